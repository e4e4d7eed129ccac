import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { BannerConsent } from '../../src/contract/index.ts'
import { runBinary, useFolder } from '../support/cli.ts'
import { createAccount, type ServerProcess, startServer } from '../support/server.ts'

const folder = useFolder()
const env = () => ({ HOME: folder.path })
const data = () => join(folder.path, '.local', 'share', 'consentctl')
const quickstart = () => startServer(['--quickstart', '--port', '0'], env(), /--help|terminal, try:/)

describe('serve --quickstart, first start', () => {
  let server: ServerProcess
  let secrets: string[]

  beforeAll(async () => {
    server = await quickstart()
    secrets = server.output().match(/\b(sk|st)-\w+/g) ?? []
  })
  afterAll(() => server.end('SIGKILL'))

  it('first prints which folder it opens', () => {
    expect(server.output()).toContain(`opening a new embedded database in ${data()}\n`)
    expect(server.output().indexOf('opening')).toBeLessThan(server.output().indexOf('is serving on'))
  })

  it('prints the secrets of its new account once, and stores the key in the profile "local"', async () => {
    expect(secrets).toHaveLength(2)
    const { stdout } = await runBinary(['config', 'list'], { env: env() })
    expect(stdout).toContain('profile\tlocal\tconfig.json')
    expect(stdout).not.toContain(secrets[1])
  })

  it('sets up a command line that works without further configuration', async () => {
    const created = await runBinary(['create', '--subject', 'maria@example.com', '--accepted', '-q'], {
      env: env(),
    })
    const listed = await runBinary(['list', '-q'], { env: env() })
    expect([created.code, listed.code]).toEqual([0, 0])
    expect(listed.stdout).toBe(created.stdout)
  })

  it('rejects a second server on the same folder, and says what to do', async () => {
    const { code, stderr } = await runBinary(['serve', '--port', '0'], { env: env() })
    expect(code).toBe(2)
    expect(stderr).toMatch(/^error: the data folder .* is in use by another consentctl serve/)
    expect(stderr).toContain('--data-dir')
  })

  it('allows another account to be created meanwhile, with output in the documented shape', async () => {
    const account = await createAccount(
      ['--email', 'second@example.com', '--site', 'Shop', '--monthly-quota', '3'],
      env(),
    )
    expect(account).toEqual({
      account_id: expect.any(String),
      user: {
        id: expect.any(String),
        email: 'second@example.com',
        password: expect.stringMatching(/^.{24}$/),
      },
      site: { id: expect.any(String), name: 'Shop', token: expect.stringMatching(/^st-/) },
      api_key: expect.stringMatching(/^sk-/),
    })
    const own = { ...env(), CONSENTCTL_API_KEY: account.api_key }
    const codes = []
    for (let request = 0; request < 4; request += 1) codes.push((await runBinary(['list'], { env: own })).code)
    expect(codes).toEqual([0, 0, 0, 6])
  })

  const visit = async (body: object) => {
    const headers = {
      'content-type': 'application/json',
      'x-site-token': secrets.find(text => /^st-/.test(text)) ?? '',
    }
    const url = `${server.url}/api/v1/public/consent`
    const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
    return (await response.json()) as BannerConsent
  }

  it('stops cleanly on SIGINT; a later start keeps records and visitors and shows no secret', async () => {
    const { id, consent_token } = await visit({ accepted: true })
    expect(await server.end('SIGINT')).toBe(0)
    expect(existsSync(join(data(), '.s.PGSQL.5432'))).toBe(false)
    const port = new URL(server.url).port
    server = await startServer(['--quickstart', '--port', port], env(), /terminal, try:/)
    expect(server.output()).not.toMatch(/\b(sk|st|ct)-/)
    const { stdout } = await runBinary(['list', '-q'], { env: env() })
    expect(stdout.trim().split('\n')).toHaveLength(2)
    expect(await visit({ consent_token, accepted: false })).toMatchObject({ id, accepted: false })
    expect(await server.end('SIGTERM')).toBe(0)
  })
})

describe('admin account create', () => {
  it('works on an empty folder without a server, and never prints a given password', async () => {
    const own = join(folder.path, 'own')
    const args = [
      'admin',
      'account',
      'create',
      '--email',
      'a@example.com',
      '--data-dir',
      own,
      '--password-stdin',
      '--json',
    ]
    const { code, stdout } = await runBinary(args, { env: env(), stdin: 'correct horse battery\n' })
    expect(code).toBe(0)
    expect(JSON.parse(stdout).user.password).toBeNull()
    expect(stdout).not.toContain('correct horse')
    const again = await runBinary(args, { env: env(), stdin: 'correct horse battery\n' })
    expect(again).toMatchObject({ code: 5, stdout: '' })
    expect(existsSync(join(own, '.s.PGSQL.5432'))).toBe(false)
  })
})
