import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { HttpResponse } from 'msw'
import { beforeEach, expect, it } from 'vitest'
import {
  apiKeyOf,
  email,
  keysPath,
  managed,
  managing,
  newKey,
  password,
  runAs,
  signedIn,
} from '../../session-fixtures.ts'
import { apiKey, expectExit, expectNoStdout, fails, listOf, useCli, uuid } from '../../support.ts'

const cli = useCli()
let folder = ''
beforeEach(() => {
  folder = cli.freshFolder()
})

const env = (more: Record<string, string | undefined> = {}) => ({
  CONSENTCTL_CONFIG_DIR: folder,
  CONSENTCTL_API_KEY: undefined,
  ...more,
})
const login = (...more: string[]) => runAs(cli, ['auth', 'login', ...more], { env: env() })
const stored = (name: string) => JSON.parse(readFileSync(join(folder, name), 'utf8'))

function making(onMade = () => {}) {
  signedIn(cli, 'post', keysPath, () => {
    onMade()
    return { ...apiKeyOf(), key: newKey }
  })
}

it('creates a key named after this machine, and stores it with the e-mail for this address', async () => {
  making()
  const { code, stdout, stderr } = await login()
  expect({ code, stdout }).toEqual({ code: 0, stdout: '' })
  expect(managed(cli)).toEqual([
    {
      method: 'POST',
      path: '/api/v1/keys',
      query: {},
      body: { name: expect.stringMatching(/^consentctl@\S+ \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/) },
    },
  ])
  expect(stored('config.json')).toEqual({
    profile: 'default',
    profiles: { default: { base_url: cli.instance.url, email } },
  })
  expect(stored('credentials.json')).toEqual({ default: { api_key: newKey, base_url: cli.instance.url } })
  expect(stderr).toContain(`created key ${uuid(0x4e1)} (consentctl@${hostname().slice(0, 60)} 2`)
  expect(stderr).toContain(`stored sk-…${newKey.slice(-4)} for ${cli.instance.url} in profile default`)
})

it('stores no password, and shows neither it nor the key', async () => {
  making()
  const { stdout, stderr } = await login()
  const files = ['config.json', 'credentials.json'].map(name => readFileSync(join(folder, name), 'utf8'))
  for (const text of [stdout, stderr, ...files]) expect(text).not.toContain(password.trim())
  expect(stdout + stderr).not.toContain(newKey.slice(3, -4))
})

it('stores what later commands use: the key and the e-mail', async () => {
  making()
  await login('-p', 'shop')
  cli.instance.use(
    listOf(1),
    managing('get', keysPath, () => ({ data: [] })),
  )
  const bare = env({ CONSENTCTL_BASE_URL: undefined })
  expect(await cli.run(['list'], { env: bare })).toMatchObject({ code: 0 })
  expect(cli.instance.requests.at(-1)?.headers.authorization).toBe(`Bearer ${newKey}`)
  const keys = await cli.run(['keys', 'list', '--password-stdin'], { env: bare, stdin: password })
  expect(keys).toMatchObject({ code: 0 })
})

it('accepts a name and scopes for the key', async () => {
  making()
  expect(await login('--key-name', 'laptop', '--scope', 'read,write')).toMatchObject({ code: 0 })
  expect(managed(cli)[0]?.body).toEqual({ name: 'laptop', scopes: ['read', 'write'] })
})

it.each([
  [['--with-key', '--email', email]],
  [['--with-key', '--password-stdin']],
  [['--key-name', 'laptop']],
  [['--scope', 'read']],
  [['--email', email, '--password-stdin', '--scope', 'all']],
  [['--email', email, '--password-stdin', '--key-name', '']],
])('rejects %j with exit code 2 before any request', async args => {
  const ran = await cli.run(['auth', 'login', ...args], { env: env(), stdin: apiKey })
  expect(ran).toMatchObject({ code: 2, stdout: '' })
  expect(cli.sent()).toEqual([])
  expect(existsSync(folder)).toBe(false)
})

it.each([
  [400, 'invalid_request', 5],
  [403, 'forbidden', 4],
  [404, 'not_found', 3],
  [500, 'internal_error', 11],
])('when no key is created, stores nothing: %i %s exits with %i', async (status, error, exit) => {
  signedIn(cli, 'post', keysPath, () => fails(status, error))
  expectExit(await login('--json'), exit, { code: error })
  expect(existsSync(folder)).toBe(false)
})

it('when a key cannot be stored, revokes it', async () => {
  making(() => writeFileSync(folder, 'a file where the folder would be'))
  cli.instance.use(
    managing('delete', `${keysPath}/:id`, ({ id }) =>
      HttpResponse.json(apiKeyOf({ id, revoked_at: '2026-02-03T00:00:00.000Z' })),
    ),
  )
  expectNoStdout(await login(), 1, `revoked key ${uuid(0x4e1)}`)
  expect(managed(cli).map(({ method, path }) => `${method} ${path}`)).toEqual([
    'POST /api/v1/keys',
    `DELETE /api/v1/keys/${uuid(0x4e1)}`,
  ])
})

it('names a key that can be neither stored nor revoked', async () => {
  making(() => writeFileSync(folder, 'a file where the folder would be'))
  cli.instance.use(managing('delete', `${keysPath}/:id`, () => fails(503, 'unavailable')))
  expectExit(await login(), 1, `consentctl keys revoke ${uuid(0x4e1)}`)
})

it('when a key was stored before, says that it stays valid', async () => {
  making()
  expect((await login()).stderr).not.toContain('valid until you revoke it')
  const { stderr } = await login()
  expect(stderr).toContain(`sk-…${newKey.slice(-4)} stays valid until you revoke it`)
})
