import { chmodSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { HttpResponse, http } from 'msw'
import { describe, expect, it } from 'vitest'
import { saveProfile } from '../../../../src/settings/store.ts'
import { type RunOptions, useFolder } from '../../../support/cli.ts'
import { freePort } from '../../../support/postgres.ts'
import { apiKey, consentsPath, screen, styles, useCli, uuid } from '../../support.ts'
import { failing, webhookOf, webhooksPath } from '../../webhook-fixtures.ts'

const cli = useCli()
const state = useFolder()

interface Row {
  readonly check: string
  readonly result: string
  readonly detail: string
  readonly remedy: string | null
}

/** The checks by their names, and the exit code; none of it may hold the key. */
async function examine(env: Record<string, string | undefined> = {}, args: string[] = []) {
  const all = { CONSENTCTL_STATE_DIR: join(state.path, 'state'), ...env }
  const { code, stdout, stderr } = await cli.run(['doctor', '-o', 'json', ...args], { env: all })
  expect(stdout + stderr).not.toContain(apiKey.slice(3, -4))
  const rows = JSON.parse(stdout) as Row[]
  for (const row of rows) expect(Object.keys(row)).toEqual(['check', 'result', 'detail', 'remedy'])
  return { code, checks: Object.fromEntries(rows.map(row => [row.check, row])), stderr }
}

interface Answers {
  readonly ready?: () => Response
  readonly list?: () => Response
  readonly webhooks?: () => Response
  readonly headers?: Record<string, string>
}

const failure = (error: string, status: number) => () =>
  HttpResponse.json({ error, message: `your key ${apiKey}` }, { status })

/** Makes the instance answer what it is asked, well unless said. */
function answering({ ready, list, webhooks, headers = {} }: Answers = {}) {
  const date = { date: new Date().toUTCString(), ...headers }
  const paths: [string, () => Response][] = [
    ['*/ready', ready ?? (() => HttpResponse.json({ status: 'ok' }, { headers: date }))],
    ['*/api/v1/openapi.json', () => HttpResponse.json({ openapi: '3.1.1', info: { version: '9.8.7' } })],
    ['*/api/v1/usage', failure('not_found', 404)],
    [webhooksPath, webhooks ?? failure('forbidden', 403)],
    [consentsPath, list ?? (() => HttpResponse.json({ data: [], next_cursor: null }, { headers: date }))],
  ]
  for (const [path, answer] of paths) cli.instance.use(http.get(path, answer as () => HttpResponse<string>))
}

const quota = (limit: number, remaining: number) => ({
  ...{ 'x-quota-limit': String(limit), 'x-quota-remaining': String(remaining) },
  'x-quota-reset': '1796083200',
})

it('when everything works, exits with 0 and reports what it found', async () => {
  answering({ headers: quota(1000, 900) })
  const { code, checks, stderr } = await examine()
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  const results = Object.values(checks).map(({ check, result }) => `${check} ${result}`)
  expect(results).toEqual([
    ...['version ok', 'config ok', 'credentials ok', 'state ok', 'terminal ok', 'base_url ok'],
    ...['proxy skip', 'connection ok', 'service ok', 'clock ok', 'key ok', 'quota ok'],
  ])
  expect(checks['base_url']?.detail).toContain('(CONSENTCTL_BASE_URL)')
  expect(checks['service']?.detail).toContain('version 9.8.7')
  expect(checks['key']?.detail).toContain('sk-…a1b2 from CONSENTCTL_API_KEY')
  expect(checks['quota']?.detail).toBe('900 of 1000 requests are left, until 2026-12-01')
})

it.each([
  [{ limit: null, remaining: null }, 0, 'ok', 'the account has no monthly limit; 25 requests this month'],
  [{ limit: 25, remaining: 0 }, 6, 'fail', 'this month’s quota is used up, until 2026-12-01'],
  [{ limit: 100, remaining: 75 }, 0, 'ok', '75 of 100 requests are left, until 2026-12-01'],
])('reports the quota %j like usage does', async (numbers, exit, result, detail) => {
  answering()
  const used = { month: '2026-11', used: 25, ...numbers, resets_at: '2026-12-01T00:00:00.000Z' }
  cli.instance.use(http.get('*/api/v1/usage', () => HttpResponse.json(used)))
  const { code, checks } = await examine()
  expect({ code, quota: checks['quota'] }).toMatchObject({ code: exit, quota: { result, detail } })
})

it('sends requests only to the instance, with GET only, three of them with the key', async () => {
  answering()
  await examine()
  const asked = cli.instance.requests.map(({ method, url }) => `${method} ${url}`).sort()
  expect(asked).toEqual([
    ...['GET /api/v1/consents?limit=1', 'GET /api/v1/openapi.json', 'GET /api/v1/usage'],
    ...['GET /api/v1/webhooks', 'GET /ready'],
  ])
  const withKey = cli.instance.requests.filter(({ headers }) => headers.authorization)
  expect(withKey.map(({ url }) => url)).toEqual(['/api/v1/consents?limit=1', '/api/v1/usage', '/api/v1/webhooks'])
})

it('when the instance supports only records, exits with 0', async () => {
  cli.instance.use(http.get('*', () => HttpResponse.json({ error: 'not_found', message: '' }, { status: 404 })))
  cli.instance.use(http.get(consentsPath, () => HttpResponse.json({ data: [], next_cursor: null })))
  const { code, checks } = await examine()
  expect(code).toBe(0)
  expect(checks['service']).toMatchObject({ result: 'skip', remedy: null })
  expect(checks['key']).toMatchObject({ result: 'ok' })
  expect(checks['quota']).toMatchObject({ result: 'skip' })
})

it.each([
  [503, 'unavailable'],
  [403, 'forbidden'],
  [401, 'unauthorized'],
])('when the quota is not available, says why: %i', async (status, error) => {
  answering({ list: failure(error, status) })
  const { checks } = await examine()
  expect(checks['quota']).toMatchObject({
    result: 'skip',
    detail: `it was not told: the instance answered ${status}`,
  })
})

describe('webhooks', () => {
  const check = async (webhooks: () => Response) => {
    answering({ webhooks })
    const { code, checks } = await examine()
    return { code, row: checks['webhooks'] }
  }
  const listing = (...data: object[]) => check(() => HttpResponse.json({ data }))

  it('when some are failing or paused, warns of each and names the command for the first', async () => {
    const paused = webhookOf({ id: uuid(3), state: 'paused' })
    expect(await listing(webhookOf(), failing, paused)).toEqual({
      code: 0,
      row: {
        check: 'webhooks',
        result: 'warn',
        detail: `${failing.id} is failing since 2026-01-31 08:15Z; ${uuid(3)} is paused`,
        remedy: `consentctl webhooks show ${failing.id}`,
      },
    })
  })

  it('when all are delivered, counts them', async () => {
    const row = { result: 'ok', detail: '2 webhooks, none failing or paused', remedy: null }
    expect(await listing(webhookOf(), webhookOf())).toMatchObject({ code: 0, row })
  })

  it.each<[string, () => Response]>([
    ['the key lacks the scope', failure('forbidden', 403)],
    ['the instance has none', failure('not_found', 404)],
    ['the account has none', () => HttpResponse.json({ data: [] })],
  ])('when %s, says nothing of them', async (_, webhooks) => {
    expect(await check(webhooks)).toEqual({ code: 0, row: undefined })
  })

  it('when they cannot be read, says why and exits with 0', async () => {
    expect(await check(failure('unavailable', 503))).toMatchObject({
      code: 0,
      row: { result: 'skip', detail: 'they could not be read (unavailable)' },
    })
  })
})

describe('a failure sets the exit code', () => {
  const fail = (check: string) => ({ [check]: { result: 'fail', remedy: expect.any(String) } })

  it.each<[string, Answers, number, Record<string, object>]>([
    ['a rejected key', { list: failure('unauthorized', 401) }, 4, fail('key')],
    ['a key without rights', { list: failure('suspended', 403) }, 4, fail('key')],
    ['an instance that is not ready', { ready: failure('unavailable', 503) }, 7, fail('service')],
    ['too many requests', { list: failure('rate_limited', 429) }, 7, fail('key')],
    ['a used up quota', { list: failure('quota_exceeded', 429) }, 6, fail('quota')],
    ['an address of something else', { list: failure('not_found', 404) }, 2, fail('key')],
    ['a clock that is wrong', { headers: { date: 'Thu, 01 Jan 2026 00:00:00 GMT' } }, 2, fail('clock')],
    [
      'an instance that is down, whose address is not blamed',
      { ready: failure('unavailable', 503), list: failure('unavailable', 503) },
      7,
      {
        key: {
          detail: 'sk-…a1b2 from CONSENTCTL_API_KEY is not checked: the instance answered 503',
          remedy: 'try again later, or ask its operator',
        },
      },
    ],
  ])('exits with a specific code for %s', async (_, answers, exit, expected) => {
    answering(answers)
    expect(await examine()).toMatchObject({ code: exit, checks: expected })
  })

  it.each<[string, Record<string, string | undefined>, string, number]>([
    ['no key', { CONSENTCTL_API_KEY: undefined }, 'key', 4],
    ['two keys', { CONSENTCTL_API_KEY_FILE: '/nowhere' }, 'key', 2],
    ['a CA file without certificates', { CONSENTCTL_CA_FILE: '/dev/null' }, 'connection', 2],
  ])('exits with a specific code for %s', async (_, env, check, exit) => {
    answering()
    const { code, checks } = await examine(env)
    expect(code).toBe(exit)
    expect(checks[check]).toMatchObject({ result: 'fail' })
  })

  it.each<[string, Record<string, string | undefined>]>([
    ['no address', { CONSENTCTL_BASE_URL: undefined }],
    ['an invalid address', { CONSENTCTL_BASE_URL: 'nonsense' }],
    ['an address without encryption', { CONSENTCTL_BASE_URL: 'http://x.example' }],
    ['an unknown profile', { CONSENTCTL_BASE_URL: undefined, CONSENTCTL_PROFILE: 'prod' }],
  ])('for %s, exits with 2 without a request', async (_, env) => {
    const { code, checks } = await examine(env)
    expect(code).toBe(2)
    expect(checks['base_url']).toMatchObject({ result: 'fail' })
    expect(checks['connection']).toMatchObject({ result: 'skip' })
    expect(cli.sent()).toEqual([])
  })

  it('for a corrupt file, exits with 2 and reports its line', async () => {
    const folder = cli.freshFolder()
    mkdirSync(folder, { mode: 0o700 })
    writeFileSync(join(folder, 'config.json'), '{\n')
    const { code, checks } = await examine({ CONSENTCTL_CONFIG_DIR: folder })
    expect(code).toBe(2)
    expect(checks['config']?.detail).toContain('config.json, line 2')
  })

  it('for an unreachable instance, exits with 7', async () => {
    const url = `http://127.0.0.1:${await freePort()}`
    const { code, checks } = await examine({ CONSENTCTL_BASE_URL: url })
    expect(code).toBe(7)
    expect(checks['connection']).toMatchObject({
      result: 'fail',
      remedy: expect.stringContaining('is running'),
    })
    expect(checks['quota']).toMatchObject({ result: 'skip' })
    expect(checks['service']).toBeUndefined()
  })

  it('for an unknown host name, exits with 2', async () => {
    const { code, checks } = await examine({ CONSENTCTL_BASE_URL: 'https://nowhere.invalid' })
    expect(code).toBe(2)
    expect(checks['connection']).toMatchObject({ result: 'fail', remedy: expect.stringContaining('host name') })
  })
})

describe('a warning does not set the exit code', () => {
  const unread = () =>
    HttpResponse.json({ error: 'forbidden', message: 'x' }, { status: 403, headers: quota(1000, 900) })
  const nonsense = { 'x-quota-limit': 'x', 'x-quota-remaining': '5', 'x-quota-reset': '9'.repeat(30) }

  it.each<[string, () => Answers, Record<string, object>]>([
    [
      'a clock that is a minute off',
      () => ({ headers: { date: new Date(Date.now() - 90_000).toUTCString() } }),
      { clock: { result: 'warn', detail: expect.stringMatching(/^\d\d s ahead of/) } },
    ],
    ['a quota that is nearly used up', () => ({ headers: quota(1000, 99) }), { quota: { result: 'warn' } }],
    ['a key that may not read', () => ({ list: failure('forbidden', 403) }), { key: { result: 'warn' } }],
    [
      'a key that may not read, whose quota is in the headers',
      () => ({ list: unread }),
      { quota: { detail: '900 of 1000 requests are left, until 2026-12-01' } },
    ],
    [
      'an instance that only reads',
      () => ({ ready: () => HttpResponse.json({ status: 'read-only', reason: 'x' }) }),
      { service: { result: 'warn', detail: 'read-only at the moment, version 9.8.7' } },
    ],
    [
      'headers that make no sense',
      () => ({ headers: { date: 'yesterday', ...nonsense } }),
      { clock: { result: 'skip' }, quota: { result: 'ok', detail: '5 of an unknown number of requests are left' } },
    ],
  ])('reports %s as a warning', async (_, answers, expected) => {
    answering(answers())
    expect(await examine()).toMatchObject({ code: 0, checks: expected })
  })

  it('warns about keys that others could read, and fixes the file mode', async () => {
    answering()
    const folder = cli.freshFolder()
    await saveProfile(folder, 'a', { base_url: cli.instance.url }, apiKey)
    const file = join(folder, 'credentials.json')
    chmodSync(file, 0o644)
    const { code, checks } = await examine({ CONSENTCTL_CONFIG_DIR: folder })
    expect({ code, result: checks['credentials']?.result }).toEqual({ code: 0, result: 'warn' })
    expect(statSync(file).mode & 0o777).toBe(0o600)
  })
})

it('shows a proxy without its password', async () => {
  const proxy = createServer(socket => socket.destroy()).listen(0, '127.0.0.1')
  await new Promise(resolve => proxy.once('listening', resolve))
  const { port } = proxy.address() as { port: number }
  const { code, checks } = await examine({
    CONSENTCTL_BASE_URL: 'https://x.example',
    HTTPS_PROXY: `http://maria:p4ssw0rd@127.0.0.1:${port}`,
  })
  proxy.close()
  expect(code).toBe(7)
  expect(checks['proxy']?.detail).toBe(`HTTPS_PROXY: http://127.0.0.1:${port}`)
  expect(JSON.stringify(checks)).not.toContain('p4ssw0rd')
})

it.each<[string, RunOptions]>([
  ['on a terminal a table, and below it what to do', { ...screen, columns: 120 }],
  ['off a terminal rows of tabs', {}],
])('prints %s', async (_, options) => {
  answering({ list: failure('unauthorized', 401) })
  const env = { CONSENTCTL_STATE_DIR: state.path }
  const { code, stdout, stderr } = await cli.run(['doctor'], { ...options, env })
  expect(code).toBe(4)
  expect(stdout.replaceAll(styles, '')).toMatch(
    options.tty
      ? /^key +fail +sk-…a1b2/m
      : /^key\tfail\tsk-…a1b2 .*\tset CONSENTCTL_API_KEY to a valid key, or unset it$/m,
  )
  if (options.tty) expect(stderr).toContain('key: try set CONSENTCTL_API_KEY to a valid key')
  else expect(stderr).toBe('')
  expect((await cli.run(['doctor', '-q'], { env })).stdout).toBe('key\n')
})
