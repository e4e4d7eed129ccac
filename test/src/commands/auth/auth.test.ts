import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { HttpResponse, http } from 'msw'
import { beforeEach, describe, expect, it } from 'vitest'
import {
  apiKey,
  consentsPath,
  expectExit,
  expectNoStdout,
  expectUnsent,
  fails,
  listOf,
  noCaller,
  screen,
  useCli,
  uuid,
} from '../../support.ts'

const cli = useCli()
let folder = ''
beforeEach(() => {
  folder = cli.freshFolder()
})

/** Runs without a key in the environment, in a configuration folder of this test's own. */
function auth(args: string[], stdin = '', env: Record<string, string | undefined> = {}) {
  const base = { CONSENTCTL_CONFIG_DIR: folder, CONSENTCTL_API_KEY: undefined }
  return cli.run(args, { stdin, env: { ...base, ...env } })
}

/** Stores the key, and leaves an instance with one record. */
async function signIn() {
  cli.instance.use(noCaller, listOf(1))
  await auth(['auth', 'login', '--with-key'], apiKey)
}

const stored = (name: string) => JSON.parse(readFileSync(join(folder, name), 'utf8'))

describe('auth login', () => {
  it('checks the key with one request, then stores it for this address', async () => {
    cli.instance.use(listOf(3))
    expectNoStdout(await auth(['auth', 'login', '--with-key'], `${apiKey}\r\n`), 0, 'sk-…a1b2')
    expect(cli.instance.requests).toMatchObject([
      { method: 'GET', url: '/api/v1/consents?limit=1', headers: { authorization: `Bearer ${apiKey}` } },
    ])
    expect(stored('config.json')).toEqual({
      profile: 'default',
      profiles: { default: { base_url: cli.instance.url } },
    })
    expect(stored('credentials.json')).toEqual({ default: { api_key: apiKey, base_url: cli.instance.url } })
    expect(statSync(folder).mode & 0o777).toBe(0o700)
    for (const name of ['config.json', 'credentials.json'])
      expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600)
  })

  it('stores what later commands use without environment variables', async () => {
    cli.instance.use(listOf(1))
    await auth(['auth', 'login', '--with-key', '-p', 'shop'], apiKey)
    expect((await auth(['list'], '', { CONSENTCTL_BASE_URL: undefined })).code).toBe(0)
    expect(cli.instance.requests.at(-1)?.headers.authorization).toBe(`Bearer ${apiKey}`)
  })

  it.each([
    [401, 'unauthorized', 4],
    [403, 'forbidden', 4],
    [404, 'not_found', 3],
    [503, 'unavailable', 7],
  ])('when the instance rejects the key, stores nothing: %i %s', async (status, error, exit) => {
    cli.instance.use(http.get(consentsPath, () => fails(status, error)))
    expect(await auth(['auth', 'login', '--with-key'], apiKey)).toMatchObject({ code: exit, stdout: '' })
    expect(existsSync(folder)).toBe(false)
  })

  it('stores a key without the scope read, and says so', async () => {
    cli.instance.use(http.get(consentsPath, () => fails(403, 'forbidden', 'no', 'missing_scope')))
    expectExit(await auth(['auth', 'login', '--with-key'], apiKey), 0, 'note: the key has no scope read')
    expect(stored('credentials.json').default.api_key).toBe(apiKey)
  })

  it('when a new key is rejected, keeps the stored one', async () => {
    await signIn()
    cli.instance.use(http.get(consentsPath, () => fails(401, 'unauthorized')))
    expect(await auth(['auth', 'login', '--with-key'], 'sk-another')).toMatchObject({ code: 4 })
    expect(stored('credentials.json').default.api_key).toBe(apiKey)
  })

  it('does not name another source for the given key', async () => {
    cli.instance.use(http.get(consentsPath, () => fails(401, 'unauthorized')))
    const { stderr } = await auth(['auth', 'login', '--with-key'], apiKey, { CONSENTCTL_API_KEY: 'sk-env' })
    expect(stderr).not.toContain('came from CONSENTCTL_API_KEY')
  })

  it.each(['', '\n', 'token-123', 'sk-', 'sk-a b', 'sk-a\nsk-b'])('rejects %j before any request', async text => {
    expectUnsent(cli, await auth(['auth', 'login', '--with-key'], text))
    expect(existsSync(folder)).toBe(false)
  })

  it('exits with 2 without --with-key if no terminal can prompt', async () => {
    expectExit(await auth(['auth', 'login'], apiKey), 2, '--with-key')
  })
})

describe('auth status', () => {
  it('shows the end of the key, its source, and the response of the instance', async () => {
    await signIn()
    const { code, stdout } = await auth(['auth', 'status', '-o', 'tsv'])
    expect(code).toBe(0)
    expect(stdout).toContain('api_key\tsk-…a1b2\tprofile default, credentials.json\n')
    expect(stdout).toContain(`base_url\t${cli.instance.url}\t`)
    expect(stdout).toContain('valid\tyes\t')
    expect(stdout).not.toContain('site\t')
  })

  it('shows the sites of a key that is restricted to some', async () => {
    await signIn()
    const body = { account_id: uuid(1), kind: 'api_key', id: uuid(2), site_ids: [uuid(3), uuid(4)] }
    cli.instance.use(http.get('*/api/v1/caller', () => HttpResponse.json(body)))
    const { stdout } = await auth(['auth', 'status', '-o', 'tsv'])
    expect(stdout).toContain(`site\t${uuid(3)}\tthe instance\nsite\t${uuid(4)}\tthe instance\n`)
  })

  it('when the key is rejected, exits with 4, names its source, and keeps it', async () => {
    await signIn()
    cli.instance.use(http.get(consentsPath, () => fails(401, 'unauthorized')))
    expectNoStdout(await auth(['auth', 'status']), 4, 'the key came from profile default')
    expect(stored('credentials.json').default.api_key).toBe(apiKey)
  })

  it('exits with 4 and sends no request without a key, and exits with 2 without an instance', async () => {
    expect(await auth(['auth', 'status'])).toMatchObject({ code: 4, stdout: '' })
    expectUnsent(cli, await auth(['auth', 'status'], '', { CONSENTCTL_BASE_URL: undefined }))
  })
})

describe('auth token', () => {
  it('prints only the key on stdout, and its source on stderr', async () => {
    await signIn()
    cli.instance.requests.length = 0
    const { code, stdout, stderr } = await auth(['auth', 'token'])
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${apiKey}\n` })
    expect(stderr).toContain('from profile default, credentials.json')
    expect(stderr).not.toContain(apiKey)
    expect(await auth(['auth', 'token', '-q'])).toEqual({ code: 0, stdout: `${apiKey}\n`, stderr: '' })
    const { stdout: json } = await auth(['auth', 'token', '--json'])
    expect(JSON.parse(json)).toEqual({ api_key: apiKey, source: 'profile default, credentials.json' })
    expect(cli.sent()).toEqual([])
  })

  it('prints no key for another address, and exits with 4 if there is no key', async () => {
    await signIn()
    const other = await auth(['auth', 'token', '--base-url', 'https://evil.example'])
    expect(other).toMatchObject({ code: 4, stdout: '' })
    await auth(['auth', 'logout'])
    expect(await auth(['auth', 'token'])).toMatchObject({ code: 4, stdout: '' })
  })
})

describe('auth login › precedence', () => {
  it.each([
    ['CONSENTCTL_API_KEY', apiKey],
    ['CONSENTCTL_API_KEY_FILE', '/nowhere/key'],
  ])('says that %s takes precedence over the stored key', async (name, value) => {
    cli.instance.use(listOf(1))
    const ran = await auth(['auth', 'login', '--with-key'], apiKey, { [name]: value })
    expectExit(ran, 0, `note: ${name} is set and takes precedence`)
  })

  it('does not read a key from a terminal that would echo it', async () => {
    const env = { CONSENTCTL_CONFIG_DIR: folder, CONSENTCTL_API_KEY: undefined }
    const { code } = await cli.run(['auth', 'login', '--with-key'], {
      env,
      stdin: apiKey,
      tty: { stdin: true },
    })
    expect(code).toBe(2)
    expect(cli.sent()).toEqual([])
  })
})

describe('auth logout', () => {
  it('removes the key and keeps the address', async () => {
    await signIn()
    expect(await auth(['auth', 'logout'])).toMatchObject({ code: 0, stdout: '' })
    expect(stored('credentials.json')).toEqual({})
    expect(stored('config.json').profiles.default.base_url).toBe(cli.instance.url)
    expect(await auth(['list'])).toMatchObject({ code: 4 })
    expect(await auth(['auth', 'logout'])).toMatchObject({ code: 0 })
    const { stderr } = await auth(['auth', 'logout'], '', { CONSENTCTL_API_KEY: apiKey })
    expect(stderr).toContain('note: the key of CONSENTCTL_API_KEY is still used')
  })
})

it('a stored key is not sent to another address: exits with 4 without a request', async () => {
  await signIn()
  const before = cli.sent().length
  const other = cli.instance.url.replace('127.0.0.1', 'localhost')
  expectNoStdout(await auth(['list', '--base-url', other, '-o', 'ndjson']), 4, { code: 'no_key', exit: 4 })
  expect(cli.sent()).toHaveLength(before)
})

it('only auth token prints the key; other commands mask it', async () => {
  cli.instance.use(
    http.get('*', () => fails(404, 'not_found')),
    listOf(1),
  )
  await auth(['auth', 'login', '--with-key'], apiKey)
  const lines = [
    'auth status',
    'config list',
    'config list --json',
    'config get api_key',
    'config profiles',
    'config path',
    'config set protected true',
    'doctor',
    'doctor --json',
    'list',
    'auth logout',
    'auth login --with-key',
  ]
  for (const line of lines) {
    const env = { CONSENTCTL_CONFIG_DIR: folder }
    const { stdout, stderr } = await cli.run(line.split(' '), { ...screen, env, stdin: apiKey })
    expect(stderr).not.toMatch(/^error/m)
    expect(stdout + stderr).not.toContain(apiKey.slice(3, -4))
  }
})
