import type { KeyObject } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { defaultBannerLimits } from '../../server/banner/routes.ts'
import { type Config, readConfig } from '../../server/config.ts'
import { OperatorError } from '../../src/contract/index.ts'
import { keyIdOf, privatePem, publicPem, signingKeyOf } from '../../src/evidence/keys.ts'
import { useFolder } from '../support/cli.ts'

const home = resolve('/home/maria')

const defaults: Config = {
  host: '127.0.0.1',
  port: 8787,
  databaseUrl: null,
  readDatabaseUrl: null,
  dataDir: join(home, '.local', 'share', 'consentctl'),
  dashboard: true,
  logLevel: 'info',
  ipStorage: 'truncated',
  geoipDb: null,
  trustProxy: [],
  edgeCountryHeader: null,
  edgeRegionHeader: null,
  sessionSecret: null,
  signingKey: null,
  earlierSigningKeys: [],
  signingCommand: null,
  purgeAfterDays: 30,
  holidays: [],
  checkpointMinutes: 60,
  tsa: null,
  webhookAllow: new Set(),
  metricsHost: '127.0.0.1',
  metricsPort: null,
  watchdogSeconds: 5,
  publicRatePerAddress: defaultBannerLimits.address.max,
  publicRatePerSite: defaultBannerLimits.site.max,
}

const secret = 'an0ther-secret-of-more-than-thirty-two-bytes'

const environment = {
  HOST: '0.0.0.0',
  PORT: '80',
  DATABASE_URL: 'postgres://a@db.example/b',
  READ_DATABASE_URL: 'postgres://a@one.example,other.example/b',
  CONSENTCTL_DATA_DIR: '/var/lib/consentctl',
  LOG_LEVEL: 'debug',
  IP_STORAGE: 'drop',
  GEOIP_DB: '/srv/GeoLite2-City.mmdb',
  TRUST_PROXY: '10.0.0.0/8, 192.0.2.7,2001:db8::/32,::1',
  EDGE_COUNTRY_HEADER: 'CF-IPCountry',
  EDGE_REGION_HEADER: 'x-vercel-ip-country-region',
  SESSION_SECRET: secret,
  SIGNING_KEY_FILE: '',
  SIGNING_COMMAND: '',
  DASHBOARD: 'off',
  PURGE_AFTER_DAYS: '0',
  HOLIDAYS: '12-25, 2026-12-24',
  CHECKPOINT_MINUTES: '5',
  TSA_URL: '',
  TSA_CA: '',
  WEBHOOK_ALLOW: 'Intranet.example, ::1',
  METRICS_HOST: '10.0.0.9',
  METRICS_PORT: '9464',
  WATCHDOG_SECONDS: '10',
  PUBLIC_RATE_PER_ADDRESS: '30',
  PUBLIC_RATE_PER_SITE: '12000',
}

const asSet: Config = {
  host: '0.0.0.0',
  port: 80,
  databaseUrl: 'postgres://a@db.example/b',
  readDatabaseUrl: 'postgres://a@one.example,other.example/b',
  dataDir: resolve('/var/lib/consentctl'),
  dashboard: false,
  logLevel: 'debug',
  ipStorage: 'drop',
  geoipDb: resolve('/srv/GeoLite2-City.mmdb'),
  trustProxy: ['10.0.0.0/8', '192.0.2.7', '2001:db8::/32', '::1'],
  edgeCountryHeader: 'cf-ipcountry',
  edgeRegionHeader: 'x-vercel-ip-country-region',
  sessionSecret: secret,
  signingKey: null,
  earlierSigningKeys: [],
  signingCommand: null,
  purgeAfterDays: 0,
  holidays: ['12-25', '2026-12-24'],
  checkpointMinutes: 5,
  tsa: null,
  webhookAllow: new Set(['intranet.example', '::1']),
  metricsHost: '10.0.0.9',
  metricsPort: 9464,
  watchdogSeconds: 10,
  publicRatePerAddress: 30,
  publicRatePerSite: 12_000,
}

describe('readConfig › setting', () => {
  it('has its default when nothing is set', () => {
    expect(readConfig({}, { HOME: home })).toEqual(defaults)
  })

  it('is read from the environment beside unrelated variables', () => {
    expect(readConfig({}, { ...environment, HOME: home, PATH: '/bin', host: 'x' })).toEqual(asSet)
  })

  it('is read from a flag before the environment', () => {
    const flags = { host: '::1', port: 0, databaseUrl: 'postgresql://c@localhost/d' }
    expect(readConfig(flags, environment)).toEqual({ ...asSet, ...flags })
    expect(readConfig({ dataDir: '/data' }, environment).dataDir).toBe(resolve('/data'))
  })

  it('counts as unset when its variable is empty', () => {
    const empty = Object.fromEntries(Object.keys(environment).map(name => [name, '']))
    expect(readConfig({}, { ...empty, HOME: home })).toEqual(defaults)
  })
})

describe('readConfig › database', () => {
  it('when a flag names a folder, uses the embedded one even if DATABASE_URL is set', () => {
    expect(readConfig({ dataDir: '/data' }, environment).databaseUrl).toBeNull()
  })
})

describe('readConfig › signing keys', () => {
  const folder = useFolder()
  const [one, other] = [1, 2].map(byte => signingKeyOf(Buffer.alloc(32, byte))) as [KeyObject, KeyObject]
  const read = (pem: string, SIGNING_COMMAND = '') => {
    const SIGNING_KEY_FILE = join(folder.path, 'signing.pem')
    writeFileSync(SIGNING_KEY_FILE, pem)
    const { signingKey, earlierSigningKeys, signingCommand } = readConfig({}, { SIGNING_KEY_FILE, SIGNING_COMMAND })
    return { ids: [signingKey, ...earlierSigningKeys].map(key => key && keyIdOf(key)), signingCommand }
  }

  it('are read from the file, with the current one first', () => {
    const expected = { ids: [one, other].map(keyIdOf), signingCommand: null }
    expect(read(`${privatePem(one)}${privatePem(other)}`)).toEqual(expected)
    expect(read(`a note\n${privatePem(one)}\n${privatePem(other)}`)).toEqual(expected)
  })

  it('may be public only if a command signs', () => {
    expect(read(`${publicPem(one)}${privatePem(other)}`, 'sign')).toEqual({
      ...{ ids: [one, other].map(keyIdOf), signingCommand: 'sign' },
    })
    expect(() => read(publicPem(one))).toThrow('SIGNING_COMMAND must name the command')
    expect(() => read(privatePem(one), 'sign')).toThrow('must name a file with the public key')
    expect(() => readConfig({}, { SIGNING_COMMAND: 'sign' })).toThrow('must name a file with the public key')
    for (const text of ['', 'x', privatePem(one).slice(0, -20)])
      expect(() => read(text)).toThrow('is not an Ed25519 private key in PEM')
  })
})

describe('readConfig › timestamps', () => {
  const TSA_CA = fileURLToPath(new URL('../fixtures/tls/ca.pem', import.meta.url))
  const TSA_URL = 'https://tsa.example/tsr'

  it('require both the authority and its certificate', () => {
    expect(readConfig({}, { TSA_URL, TSA_CA }).tsa).toEqual({ url: TSA_URL, caFile: TSA_CA })
    expect(() => readConfig({}, { TSA_URL })).toThrow('TSA_URL: TSA_CA must name a file with the certificate')
    expect(() => readConfig({}, { TSA_CA })).toThrow('TSA_CA: TSA_URL must name the time-stamping authority')
    for (const url of ['tsa.example', 'ftp://tsa.example', 'https://'])
      expect(() => readConfig({}, { TSA_URL: url, TSA_CA })).toThrow('TSA_URL: must start with http:// or https://')
    for (const url of ['https://user:50%off@tsa.example', 'https://user:%E9@tsa.example'])
      expect(() => readConfig({}, { TSA_URL: url, TSA_CA })).toThrow(
        'TSA_URL: has a % that is not part of an escape: write %25',
      )
    for (const file of [TSA_CA.replace('ca.pem', 'server.key'), '/nowhere'])
      expect(() => readConfig({}, { TSA_URL, TSA_CA: file })).toThrow(
        `TSA_CA: ${file} is not a file of certificates in PEM`,
      )
  })
})

describe('readConfig › paths', () => {
  it('are made absolute', () => {
    const { dataDir, geoipDb } = readConfig({ dataDir: 'data' }, { GEOIP_DB: './geo/city.mmdb' })
    expect(dataDir).toBe(resolve('data'))
    expect(geoipDb).toBe(resolve('geo/city.mmdb'))
  })

  it.runIf(process.platform !== 'win32')('default to XDG_DATA_HOME, else the home folder', () => {
    expect(readConfig({}, { XDG_DATA_HOME: '/xdg', HOME: home }).dataDir).toBe('/xdg/consentctl')
    expect(readConfig({}, { XDG_DATA_HOME: '', HOME: home }).dataDir).toBe(defaults.dataDir)
    expect(readConfig({}, {}).dataDir).toBe(join(homedir(), '.local', 'share', 'consentctl'))
  })
})

describe('readConfig › valid value', () => {
  it.each<[string, string, Partial<Config>]>([
    ['PORT', '0', { port: 0 }],
    ['PORT', '65535', { port: 65_535 }],
    ['METRICS_PORT', '0', { metricsPort: 0 }],
    ['METRICS_PORT', '65535', { metricsPort: 65_535 }],
    ['TRUST_PROXY', '::ffff:10.0.0.1', { trustProxy: ['::ffff:10.0.0.1'] }],
    ['TRUST_PROXY', '10.1.2.3/8', { trustProxy: ['10.1.2.3/8'] }],
    ['TRUST_PROXY', '10.0.0.1/32,::1/128,::/1', { trustProxy: ['10.0.0.1/32', '::1/128', '::/1'] }],
    ['CHECKPOINT_MINUTES', '1', { checkpointMinutes: 1 }],
    ['CHECKPOINT_MINUTES', '10080', { checkpointMinutes: 10_080 }],
    ['SESSION_SECRET', 'x'.repeat(32), { sessionSecret: 'x'.repeat(32) }],
    ['SESSION_SECRET', 'é'.repeat(16), { sessionSecret: 'é'.repeat(16) }],
    ['PUBLIC_RATE_PER_ADDRESS', '1', { publicRatePerAddress: 1 }],
    ['PUBLIC_RATE_PER_SITE', '999999999', { publicRatePerSite: 999_999_999 }],
  ])('parses %s as %j', (name, value, expected) => {
    expect(readConfig({}, { [name]: value })).toMatchObject(expected)
  })
})

describe('readConfig › invalid value', () => {
  const range = 'must be a number from 0 to 65535'
  const rate = 'must be a whole number from 1 to 999999999'
  const oneHeader = 'must be the name of one header'
  const notNetwork = (value: string) => `"${value}" is neither an address nor a network such as 10.0.0.0/8`

  it.each<[string, string, string]>([
    ...['x', '-1', '1.5', ' ', '0x50', '1e3', '65536', '999999', '１'].flatMap((value): [string, string, string][] => [
      ['PORT', value, range],
      ['METRICS_PORT', value, range],
    ]),
    ['DATABASE_URL', 'mysql://root:pass@h/d', 'must start with postgres:// or postgresql://'],
    ['LOG_LEVEL', 'loud', 'must be one of debug, info, warn, error, silent'],
    ['IP_STORAGE', 'all', 'must be one of truncated, raw, drop'],
    ...['a b', 'x:', 'x,y', 'é', 'x\r\ny'].flatMap((value): [string, string, string][] => [
      ['EDGE_COUNTRY_HEADER', value, oneHeader],
      ['EDGE_REGION_HEADER', value, oneHeader],
    ]),
    ...[
      ...'loopback 10 10.0.0 010.0.0.1 0x0a.0.0.1 10.0.0.0/33 ::1/129 10.0.0.0/ 10.0.0.0/08 10.0.0.0/8/8'.split(' '),
      ...'10.0.0.0/255.0.0.0 10.0.0.0/-8 [::1] 10.0.0.1:80 0.0.0.0/0 ::/0 example.com *'.split(' '),
    ].map((value): [string, string, string] => ['TRUST_PROXY', value, notNetwork(value)]),
    ['TRUST_PROXY', '10.0.0.0/8,', notNetwork('')],
    ['TRUST_PROXY', '10.0.0.1 10.0.0.2', notNetwork('10.0.0.1 10.0.0.2')],
    ...['0', '01', '-1', '1.5', '10081', '99999', '100000'].map((value): [string, string, string] => [
      'CHECKPOINT_MINUTES',
      value,
      'must be a whole number of minutes from 1 to 10080',
    ]),
    ['SESSION_SECRET', 'S3cr3t'.repeat(5), 'must have at least 32 bytes'],
    ...['0', '00', '01', '-1', '1.5', '1e3', ' 60', '60/min', 'off', '1000000000'].flatMap(
      (value): [string, string, string][] => [
        ['PUBLIC_RATE_PER_ADDRESS', value, rate],
        ['PUBLIC_RATE_PER_SITE', value, rate],
      ],
    ),
  ])('when %s is %j, rejects it with its name and the reason', (name, value, reason) => {
    const failure = failureOf({ [name]: value })
    expect(failure).toBeInstanceOf(OperatorError)
    expect(failure.message).toBe(`${name}: ${reason}`)
  })

  it('reports all errors together, without secrets', () => {
    const { message } = failureOf({
      PORT: 'x',
      SESSION_SECRET: 'S3cr3t',
      DATABASE_URL: 'mysql://root:S3cr3t@h',
    })
    expect(message.match(/[A-Z_]+(?=: )/g)?.sort()).toEqual(['DATABASE_URL', 'PORT', 'SESSION_SECRET'])
    expect(message).not.toContain('S3cr3t')
  })

  const secrets = useFolder()

  it('with a secret can be read from a file, without its last line end', () => {
    const file = join(secrets.path, 'secret')
    writeFileSync(file, `${secret}\n`)
    expect(readConfig({}, { SESSION_SECRET_FILE: file })).toMatchObject({ sessionSecret: secret })
    writeFileSync(file, 'postgres://a:S3cr3t@h/b')
    const url = { databaseUrl: 'postgres://a:S3cr3t@h/b' }
    expect(readConfig({}, { DATABASE_URL_FILE: file })).toMatchObject(url)
    expect(readConfig({}, { DATABASE_URL_FILE: file, DATABASE_URL: '' })).toMatchObject(url)
    expect(readConfig({ dataDir: '/data' }, { DATABASE_URL_FILE: file })).toMatchObject({ databaseUrl: null })
    const other = { databaseUrl: 'postgres://other/b' }
    expect(readConfig(other, { DATABASE_URL_FILE: file })).toMatchObject(other)
  })

  it('names the file of a secret that cannot be used, and nothing in it', () => {
    const file = join(secrets.path, 'secret')
    const env = { DATABASE_URL_FILE: file }
    expect(failureOf({ DATABASE_URL_FILE: join(secrets.path, 'none') }).message).toMatch(
      /^DATABASE_URL_FILE: .*none cannot be read: ENOENT$/,
    )
    writeFileSync(file, '\n')
    expect(failureOf(env).message).toBe(`DATABASE_URL_FILE: ${file} is empty`)
    writeFileSync(file, 'S3cr3t')
    expect(failureOf(env).message).toBe('DATABASE_URL: must start with postgres:// or postgresql://')
    expect(failureOf({ ...env, DATABASE_URL: 'postgres://a/b' }).message).toBe(
      'DATABASE_URL_FILE: DATABASE_URL is set, too',
    )
  })

  it('a flag is rejected like its variable', () => {
    expect(() => readConfig({ port: 65_536 }, {})).toThrow(`PORT: ${range}`)
    expect(() => readConfig({ port: Number.NaN }, {})).toThrow(`PORT: ${range}`)
  })
})

function failureOf(env: Record<string, string>): Error {
  try {
    readConfig({}, env)
  } catch (error) {
    return error as Error
  }
  throw new Error('nothing was refused')
}
