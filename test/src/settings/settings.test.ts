import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { requireApiKey, requireBaseUrl, resolveSettings } from '../../../src/settings/settings.ts'
import { useFolder } from '../../support/cli.ts'
import { apiKey } from '../support.ts'

const folder = useFolder()
let folders = 0

interface Stored {
  readonly config?: object
  readonly credentials?: object
}

/** A configuration folder with these files. */
function stored({ config, credentials }: Stored): string {
  const path = join(folder.path, String(++folders))
  mkdirSync(path, { mode: 0o700 })
  if (config) writeFileSync(join(path, 'config.json'), JSON.stringify(config), { mode: 0o600 })
  if (credentials) writeFileSync(join(path, 'credentials.json'), JSON.stringify(credentials), { mode: 0o600 })
  return path
}

function resolve(
  flags: { profile?: string; baseUrl?: string; caFile?: string },
  env: Record<string, string>,
  files: Stored = {},
) {
  const surroundings = { platform: 'linux', warn: () => {} }
  return resolveSettings(flags, { ...surroundings, env: { CONSENTCTL_CONFIG_DIR: stored(files), ...env } })
}

const files = {
  config: {
    profile: 'shop',
    profiles: {
      shop: { base_url: 'https://shop.example', site: 'from-profile' },
      staging: { base_url: 'https://staging.example:8443/consents' },
    },
  },
  credentials: {
    shop: { api_key: 'sk-of-shop', base_url: 'https://shop.example' },
    staging: { api_key: 'sk-of-staging', base_url: 'https://staging.example:8443/consents' },
  },
}

describe('precedence: flag, environment, profile, default', () => {
  it('ignores an empty variable', () => {
    const none = {
      CONSENTCTL_BASE_URL: '',
      CONSENTCTL_PROFILE: '',
      CONSENTCTL_API_KEY: '',
      CONSENTCTL_SITE: '',
    }
    expect(resolve({}, none, files)).toMatchObject({
      profile: { value: 'shop' },
      apiKey: { atHand: 'sk-of-shop' },
    })
  })

  it.each(['toString', 'constructor', '__proto__'])('a profile named %s has only its own settings', name => {
    expect(() => resolve({ profile: name }, {}, files)).toThrow(`no profile "${name}"`)
    expect(resolve({ profile: name, baseUrl: 'https://x.example' }, {}, files)).toMatchObject({
      apiKey: null,
      site: null,
    })
  })

  it('rejects an unknown profile and lists the known ones', () => {
    const error = expect.objectContaining({ exit: 2, hint: expect.stringContaining('shop, staging') })
    expect(() => resolve({ profile: 'prod' }, {}, files)).toThrow(error)
    expect(() => resolve({}, { CONSENTCTL_PROFILE: 'prod' }, files)).toThrow(error)
  })
})

describe('instance addresses', () => {
  it.each([
    ['https://consent.example.com/', 'https://consent.example.com'],
    ['HTTPS://Consent.Example.com:443', 'https://consent.example.com'],
    ['https://x.example/base///', 'https://x.example/base'],
    ['http://[::1]:8787', 'http://[::1]:8787'],
  ])('parses %s as %s', (given, value) => {
    expect(resolve({ baseUrl: given }, {}).baseUrl?.value).toBe(value)
  })

  it.each([
    'consent.example.com',
    'ftp://x.example',
    'file:///etc/passwd',
    'javascript:alert(1)',
    'https://user:secret@x.example',
    'https://x.example/?q=1',
    'https://x.example/#f',
    'https://',
    ' ',
  ])('rejects %j with exit code 2 and names its source', value => {
    const error = expect.objectContaining({
      exit: 2,
      message: expect.stringContaining('CONSENTCTL_BASE_URL'),
    })
    expect(() => resolve({}, { CONSENTCTL_BASE_URL: value })).toThrow(error)
  })
})

it.each([
  ['https://x.example/api/v1', 'https://x.example'],
  ['https://x.example/api/v1/consents/', 'https://x.example'],
  ['http://127.0.0.1:8787/base/api', 'http://127.0.0.1:8787/base'],
])('rejects an address with the path of the API, and suggests the correct one: %s', (given, address) => {
  const error = expect.objectContaining({
    exit: 2,
    message: expect.stringContaining('--base-url: remove the path of the API from'),
    hint: `use ${address}`,
  })
  expect(() => resolve({ baseUrl: given }, {})).toThrow(error)
})

describe('plain http', () => {
  it.each([
    'http://localhost:8787',
    'http://127.0.0.1',
    'http://127.9.9.9:1',
    'http://[::1]:8787',
    'https://x.example',
  ])('%s is allowed', baseUrl => {
    expect(requireBaseUrl(resolve({ baseUrl }, {}))).toBe(baseUrl)
  })

  it.each([
    'http://x.example',
    'http://10.0.0.1',
    'http://127.0.0.1.evil.example',
    'http://localhost.evil.example',
    'http://0.0.0.0:80',
    'http://[::ffff:10.0.0.1]',
  ])('%s is rejected unless CONSENTCTL_ALLOW_HTTP names the host', baseUrl => {
    const refused = expect.objectContaining({
      exit: 2,
      hint: expect.stringContaining('CONSENTCTL_ALLOW_HTTP'),
    })
    expect(() => requireBaseUrl(resolve({ baseUrl }, {}))).toThrow(refused)
    expect(() => requireBaseUrl(resolve({ baseUrl }, { CONSENTCTL_ALLOW_HTTP: 'other.example,example' }))).toThrow(
      refused,
    )
    const { hostname } = new URL(baseUrl)
    const settings = resolve({ baseUrl }, { CONSENTCTL_ALLOW_HTTP: `other.example, ${hostname}` })
    expect(requireBaseUrl(settings)).toBe(settings.baseUrl?.value)
  })
})

describe('a stored key is sent only to its own scheme, host and port', () => {
  it.each([
    'http://shop.example',
    'https://shop.example:8443',
    'https://www.shop.example',
    'https://shop.example.evil.example',
    'https://staging.example:8443/consents',
    'https://shop.example.',
    'https://shop.example:444',
    'https://xn--shp-sna.example',
  ])('is not sent to %s', baseUrl => {
    const settings = resolve({ baseUrl }, { CONSENTCTL_ALLOW_HTTP: 'shop.example' }, files)
    expect(settings.apiKey).toBeNull()
    expect(() => requireApiKey(settings)).toThrow(
      expect.objectContaining({ exit: 4, message: expect.stringContaining('https://shop.example') }),
    )
  })

  it.each([
    'https://shop.example/base',
    'HTTPS://SHOP.EXAMPLE',
    'https://shop.example:443',
    'https://Shop.example:443/x/',
  ])('is sent to %s, which is the same', baseUrl => {
    expect(resolve({ baseUrl }, {}, files).apiKey?.atHand).toBe('sk-of-shop')
  })

  it('sends a key of the environment to any address', () => {
    const settings = resolve({ baseUrl: 'https://other.example' }, { CONSENTCTL_API_KEY: ` ${apiKey}\n` }, files)
    expect(requireApiKey(settings).atHand).toBe(apiKey)
  })
})

describe('a protected profile', () => {
  const config = {
    profile: 'prod',
    profiles: {
      prod: { base_url: 'https://prod.example', protected: true },
      twin: { base_url: 'https://prod.example/base' },
      test: { base_url: 'https://test.example', protected: false },
      broken: { base_url: 'nonsense', protected: true },
    },
  }
  const isProtected = (flags: { profile?: string; baseUrl?: string }, env = {}) =>
    resolve(flags, env, { config }).isProtected

  it.each([
    [{}, true],
    [{ profile: 'prod', baseUrl: 'https://test.example' }, true],
    [{ profile: 'twin' }, true],
    [{ profile: 'test', baseUrl: 'https://PROD.example:443' }, true],
    [{ profile: 'test' }, false],
    [{ profile: 'new', baseUrl: 'https://new.example' }, false],
  ])('protects its instance under every name: %j is %j', (flags, is) => {
    expect(isProtected(flags)).toBe(is)
  })

  it('applies with any address in the environment', () => {
    expect(isProtected({ profile: 'test' }, { CONSENTCTL_BASE_URL: 'https://prod.example' })).toBe(true)
    expect(isProtected({}, { CONSENTCTL_BASE_URL: 'https://test.example' })).toBe(true)
  })

  it('when it is not a boolean, exits with 2', () => {
    const wrong = { profiles: { a: { protected: 'yes' } } }
    expect(() => resolve({}, {}, { config: wrong })).toThrow(expect.objectContaining({ exit: 2 }))
  })
})
