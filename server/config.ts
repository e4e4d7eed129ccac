import type { KeyObject } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { isIP, isIPv6 } from 'node:net'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import ipaddr from 'ipaddr.js'
import * as z from 'zod'
import { OperatorError, type ServeOptions } from '../src/contract/index.ts'
import { readPublicKey, readSigningKey } from '../src/evidence/keys.ts'
import { hasReadableCredentials } from './net/credentials.ts'
import type { Tsa } from './timestamps/authority.ts'
import { findCertificateProblem } from './timestamps/certificates.ts'
import { hostOf } from './webhooks/address.ts'

const portRange = 'must be a number from 0 to 65535'

const minutesRange = 'must be a whole number of minutes from 1 to 10080'

/** 0 picks a free port. */
const Port = z.coerce
  .string()
  .regex(/^\d{1,5}$/, portRange)
  .transform(Number)
  .pipe(z.number().max(65_535, portRange))

const Rate = z
  .string()
  .regex(/^[1-9]\d{0,8}$/, 'must be a whole number from 1 to 999999999')
  .transform(Number)

const DatabaseUrl = z.string().regex(/^postgres(ql)?:\/\//, 'must start with postgres:// or postgresql://')

/** RFC 9110 section 5.1, in lower case. */
const HeaderName = z
  .string()
  .regex(/^[\w!#$%&'*+.^`|~-]+$/, 'must be the name of one header')
  .toLowerCase()

/** Comma-separated values; an error quotes the invalid one. */
function listOf(isValid: (part: string) => boolean, problem: string) {
  const Part = z.string().refine(isValid, { error: ({ input }) => `${JSON.stringify(input)} ${problem}` })
  return z
    .string()
    .transform(text => text.split(',').map(part => part.trim()))
    .pipe(z.array(Part))
    .default([])
}

function oneOf<const Names extends readonly [string, ...string[]]>(names: Names) {
  return z.enum(names, `must be one of ${names.join(', ')}`)
}

const Environment = z.object({
  HOST: z.string().default('127.0.0.1'),
  PORT: Port.default(8787),
  DATABASE_URL: DatabaseUrl.nullable().default(null),
  READ_DATABASE_URL: DatabaseUrl.nullable().default(null),
  CONSENTCTL_DATA_DIR: z.string().min(1).optional(),
  DASHBOARD: oneOf(['on', 'off']).default('on'),
  LOG_LEVEL: oneOf(['debug', 'info', 'warn', 'error', 'silent']).default('info'),
  IP_STORAGE: oneOf(['truncated', 'raw', 'drop']).default('truncated'),
  GEOIP_DB: z.string().optional(),
  TRUST_PROXY: listOf(isNetwork, 'is neither an address nor a network such as 10.0.0.0/8'),
  EDGE_COUNTRY_HEADER: HeaderName.nullable().default(null),
  EDGE_REGION_HEADER: HeaderName.nullable().default(null),
  SESSION_SECRET: z
    .string()
    .refine(secret => Buffer.byteLength(secret) >= 32, 'must have at least 32 bytes')
    .nullable()
    .default(null),
  SIGNING_KEY_FILE: z.string().transform(readKeyFile).default([]),
  SIGNING_COMMAND: z.string().nullable().default(null),
  PURGE_AFTER_DAYS: z
    .string()
    .regex(/^(\d{1,5}|never)$/, 'must be a number of days, or never')
    .transform(days => (days === 'never' ? null : Number(days)))
    .default(30),
  HOLIDAYS: listOf(isHoliday, 'is neither a day such as 2026-12-24 nor one of every year such as 12-25'),
  CHECKPOINT_MINUTES: z
    .string()
    .regex(/^[1-9]\d{0,4}$/, minutesRange)
    .transform(Number)
    .pipe(z.number().max(10_080, minutesRange))
    .default(60),
  TSA_URL: z
    .string()
    .refine(url => /^https?:\/\/./.test(url) && URL.canParse(url), 'must start with http:// or https://')
    .refine(
      url => !URL.canParse(url) || hasReadableCredentials(url),
      'has a % that is not part of an escape: write %25',
    )
    .nullable()
    .default(null),
  TSA_CA: z
    .string()
    .transform(file => resolve(file))
    .refine(file => findCertificateProblem(file) === null, {
      error: ({ input }) => findCertificateProblem(String(input)) ?? '',
    })
    .nullable()
    .default(null),
  WEBHOOK_ALLOW: listOf(isHost, 'is neither a host name nor an address, without a port'),
  METRICS_HOST: z.string().default('127.0.0.1'),
  METRICS_PORT: Port.nullable().default(null),
  WATCHDOG_SECONDS: z
    .string()
    .regex(/^([2-9]|[1-5]\d|60|0)$/, 'must be a whole number of seconds from 2 to 60, or 0')
    .transform(Number)
    .default(5),
  PUBLIC_RATE_PER_ADDRESS: Rate.default(60),
  PUBLIC_RATE_PER_SITE: Rate.default(6000),
})

/** Rejects /0, which would trust anyone. */
function isNetwork(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/')
  if (isIP(address) === 0 || rest.length > 0) return false
  return bits === undefined || (/^[1-9]\d{0,2}$/.test(bits) && ipaddr.isValidCIDR(text))
}

/** As a URL has it, without a port. */
function isHost(text: string): boolean {
  const url = `http://${isIPv6(text) ? `[${text}]` : text}`
  return URL.canParse(url) && hostOf(new URL(url)) === text.toLowerCase()
}

/** Checks MM-DD in a leap year. */
function isHoliday(text: string): boolean {
  return z.iso.date().safeParse(/^\d\d-\d\d$/.test(text) ? `2024-${text}` : text).success
}

/** Reads private keys, and a signing command's public keys. Errors never quote the file. */
function readKeyFile(path: string, { issues, value }: z.RefinementCtx<string>): KeyObject[] {
  try {
    const pems = readFileSync(path, 'utf8').match(/-----BEGIN [^-]+-----[^-]+-----END [^-]+-----/g) ?? ['']
    return pems.map(pem => (pem.includes('BEGIN PUBLIC KEY') ? readPublicKey(pem) : readSigningKey(pem)))
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException
    const problem = syscall ? `cannot be read: ${code}` : 'is not an Ed25519 private key in PEM'
    issues.push({ code: 'custom', input: value, message: `${path} ${problem}` })
    return z.NEVER
  }
}

type Env = Readonly<Record<string, string | undefined>>

/** Settings that contain a secret: `NAME_FILE` names a file with the value, such as a secret of a container. */
const secretNames = ['DATABASE_URL', 'READ_DATABASE_URL', 'SESSION_SECRET', 'TSA_URL'] as const

/** The value of the setting, or of its file without the last line end. Errors never quote the file. */
function readSecret(env: Env, name: (typeof secretNames)[number]): string | undefined {
  const file = env[`${name}_FILE`]
  if (!file) return env[name]
  if (env[name]) throw new OperatorError(`${name}_FILE: ${name} is set, too`)
  const value = readText(file, `${name}_FILE`).replace(/\r?\n$/, '')
  if (value === '') throw new OperatorError(`${name}_FILE: ${file} is empty`)
  return value
}

function readText(file: string, setting: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new OperatorError(`${setting}: ${file} cannot be read: ${(error as NodeJS.ErrnoException).code}`)
  }
}

/** Flags come before the environment. An empty variable counts as unset. */
export function readConfig(options: ServeOptions, env: Env): Config {
  const isDatabaseGiven = options.databaseUrl !== undefined || options.dataDir !== undefined
  const secrets = secretNames
    .filter(name => name !== 'DATABASE_URL' || !isDatabaseGiven)
    .map(name => [name, readSecret(env, name)] as const)
  const given = {
    ...env,
    DATABASE_URL: options.databaseUrl,
    ...Object.fromEntries(secrets),
    HOST: options.host ?? env['HOST'],
    PORT: options.port ?? env['PORT'],
    CONSENTCTL_DATA_DIR: options.dataDir ?? env['CONSENTCTL_DATA_DIR'],
  }
  const set = Object.entries(given).filter(([, value]) => value !== undefined && value !== '')
  const parsed = Environment.safeParse(Object.fromEntries(set))
  if (!parsed.success) throw new OperatorError(parsed.error.issues.map(describe).join('; '))
  return toConfig(parsed.data, defaultDataDir(env))
}

export type Config = Readonly<ReturnType<typeof toConfig>>

function toConfig(set: z.output<typeof Environment>, defaultFolder: string) {
  const [signingKey = null, ...earlierSigningKeys] = set.SIGNING_KEY_FILE
  const isPublic = set.SIGNING_KEY_FILE.some(({ type }) => type === 'public')
  if (isPublic !== (set.SIGNING_COMMAND !== null))
    throw new OperatorError(
      isPublic
        ? 'SIGNING_KEY_FILE: it has a public key, for which SIGNING_COMMAND must name the command that signs'
        : 'SIGNING_COMMAND: SIGNING_KEY_FILE must name a file with the public key in PEM that the command signs for',
    )
  return {
    host: set.HOST,
    port: set.PORT,
    databaseUrl: set.DATABASE_URL,
    readDatabaseUrl: set.DATABASE_URL === null ? null : set.READ_DATABASE_URL,
    dataDir: resolve(set.CONSENTCTL_DATA_DIR ?? defaultFolder),
    dashboard: set.DASHBOARD === 'on',
    logLevel: set.LOG_LEVEL,
    /** Stored part of a data subject's address: its network (/24, /48), all of it, or nothing. */
    ipStorage: set.IP_STORAGE,
    /** Absolute path of an MMDB; null for the bundled one. */
    geoipDb: set.GEOIP_DB === undefined ? null : resolve(set.GEOIP_DB),
    /** Addresses and networks (CIDR) of trusted proxies. */
    trustProxy: set.TRUST_PROXY,
    edgeCountryHeader: set.EDGE_COUNTRY_HEADER,
    edgeRegionHeader: set.EDGE_REGION_HEADER,
    /** Null for the secret in the database. */
    sessionSecret: set.SESSION_SECRET,
    /** Ed25519, public if the command signs; null for the key in the database. */
    signingKey,
    earlierSigningKeys,
    signingCommand: set.SIGNING_COMMAND,
    /** Null for never. */
    purgeAfterDays: set.PURGE_AFTER_DAYS,
    /** Days that, like weekends, extend a period ending on them (Regulation 1182/71 Art. 3(4)). */
    holidays: set.HOLIDAYS,
    checkpointMinutes: set.CHECKPOINT_MINUTES,
    tsa: readTsa(set.TSA_URL, set.TSA_CA),
    /** Hosts that webhooks may reach whatever their address, and without TLS; in lower case. */
    webhookAllow: new Set(set.WEBHOOK_ALLOW.map(host => host.toLowerCase())),
    metricsHost: set.METRICS_HOST,
    metricsPort: set.METRICS_PORT,
    /** 0 disables it. */
    watchdogSeconds: set.WATCHDOG_SECONDS,
    publicRatePerAddress: set.PUBLIC_RATE_PER_ADDRESS,
    publicRatePerSite: set.PUBLIC_RATE_PER_SITE,
  }
}

function readTsa(url: string | null, caFile: string | null): Tsa | null {
  if (url !== null && caFile !== null) return { url, caFile }
  if (url === null && caFile === null) return null
  throw new OperatorError(
    url === null
      ? 'TSA_CA: TSA_URL must name the time-stamping authority'
      : 'TSA_URL: TSA_CA must name a file with the certificate in PEM that the timestamps must chain to',
  )
}

function describe(issue: z.core.$ZodIssue): string {
  return `${String(issue.path[0])}: ${issue.message}`
}

function defaultDataDir(env: Env): string {
  if (process.platform === 'win32') return join(env['LOCALAPPDATA'] ?? homedir(), 'consentctl')
  return join(env['XDG_DATA_HOME'] || join(env['HOME'] || homedir(), '.local', 'share'), 'consentctl')
}
