import { setTimeout as delay } from 'node:timers/promises'
import { request } from 'undici'
import { beforeAll, describe, expect, it } from 'vitest'
import { runBinary } from '../support/cli.ts'
import { hasTerminal, openTerminal } from '../support/terminal.ts'
import { newOwner } from './owner.ts'
import { useServed } from './served.ts'

const served = useServed('manage')

it('keys create › creates a key that may do what its scopes allow until it is revoked', async () => {
  const { account, signedIn, withKey } = await newOwner(served, 'keys')
  const { key, ...made } = await signedIn('keys', 'create', '--name', 'ci', '--scope', 'read', '--expires', '90d')
  expect(made).toMatchObject({ name: 'ci', scopes: ['read'], hint: key.slice(-4), revoked_at: null })
  expect(await withKey(key, 'list')).toMatchObject({ code: 0 })
  const denied = await withKey(key, 'create', '--site', account.site.id)
  expect(denied).toMatchObject({ code: 4, stdout: '' })
  expect(denied.stderr).toContain('(forbidden)')
  expect(await signedIn('keys', 'revoke', made.id, '--yes')).toMatchObject({
    id: made.id,
    revoked_at: expect.any(String),
  })
  await delay(1000)
  expect(await withKey(key, 'list')).toMatchObject({ code: 4, stdout: '' })
})

it('sites › a site can be created, updated, and given a new token that replaces the old one', async () => {
  const { account, signedIn, withKey } = await newOwner(served, 'sites')
  const { token, ...site } = await signedIn('sites', 'create', '--name', 'Blog', '--origin', 'https://blog.example')
  expect(site).toMatchObject({ name: 'Blog', policy_version: 1, allowed_origins: ['https://blog.example'] })
  const flags = ['--policy-version', '2', '--add-origin', 'https://www.blog.example']
  expect(await signedIn('sites', 'update', site.id, ...flags)).toMatchObject({
    policy_version: 2,
    allowed_origins: ['https://blog.example', 'https://www.blog.example'],
  })
  const created = await withKey(account.api_key, 'create', '--site', site.id, '--json')
  expect(JSON.parse(created.stdout)).toMatchObject({ site_id: site.id, policy_version: 2 })

  const visit = async (siteToken: string) => {
    const { statusCode, body } = await request(`${served.url}/api/v1/public/consent`, {
      method: 'POST',
      headers: { 'x-site-token': siteToken, 'content-type': 'application/json' },
      body: JSON.stringify({ accepted: true }),
    })
    await body.dump()
    return statusCode
  }
  expect(await visit(token)).toBe(201)
  const rotated = await signedIn('sites', 'rotate-token', site.id, '--overlap', '0', '--yes')
  await delay(1000)
  expect([await visit(token), await visit(rotated.token)]).toEqual([401, 201])
})

it('keys and sites › exit with 4 when the password is wrong, and with 3 when the key or site does not exist', async () => {
  const { env, password, email } = await newOwner(served, 'wrong')
  const signIn = (args: string[], stdin: string) =>
    runBinary([...args, '--email', email, '--password-stdin'], { env, stdin })
  const wrong = await signIn(['keys', 'list'], 'not it')
  expect(wrong).toMatchObject({ code: 4, stdout: '' })
  expect(wrong.stderr).toContain('wrong email or password')
  const id = '01939d2c-7b1a-7c3e-9a51-2f6a1f0d9b11'
  expect(await signIn(['keys', 'revoke', id, '--yes'], password)).toMatchObject({ code: 3 })
  expect(await signIn(['sites', 'update', id, '--name', 'x'], password)).toMatchObject({ code: 3 })
})

describe.skipIf(!hasTerminal)('keys and sites › on a terminal', () => {
  let owner: Awaited<ReturnType<typeof newOwner>>
  beforeAll(async () => {
    owner = await newOwner(served, 'terminal')
  })
  const keyId = async () => (await owner.signedIn('keys', 'create', '--name', 'short-lived')).id as string

  /** Runs a command, and types the password where it is asked for. */
  async function open(...args: string[]) {
    const terminal = openTerminal(args, owner.env)
    await terminal.shows(`Password of ${owner.email} on default@${new URL(served.url).host} (not shown): `)
    return terminal
  }

  it.each([
    ['y', 'y\r', 0],
    ['n', 'n\r', 9],
  ])(
    'keys revoke prompts for the password without echo, shows the key, and asks for confirmation: %s',
    async (_name, keys, code) => {
      const terminal = await open('keys', 'revoke', await keyId())
      terminal.type(`${owner.password}\r`)
      await terminal.shows(/short-lived[\s\S]*Revoke this key on .* \[y\/N\] /)
      terminal.type(keys)
      const ended = await terminal.ended
      expect(ended.code).toBe(code)
      expect(ended.screen).not.toContain(owner.password)
      expect(ended.screen.includes('revoked 1 key')).toBe(code === 0)
    },
  )

  it('sites rotate-token prompts before it revokes the old token immediately', async () => {
    const terminal = await open('sites', 'rotate-token', owner.account.site.id, '--overlap', '0')
    terminal.type(`${owner.password}\r`)
    await terminal.shows('End the token of this site on')
    terminal.type('\r')
    const { code, screen } = await terminal.ended
    expect(code).toBe(9)
    expect(screen).not.toMatch(/\bst-\w/)
  })

  it.each([
    ['Ctrl-C', '\u0003', 130],
    ['the end of the input', '\u0004', 9],
    ['nothing', '\r', 2],
  ])('exits when no password is entered: %s', async (_name, keys, code) => {
    const terminal = await open('keys', 'list')
    terminal.type(keys)
    expect((await terminal.ended).code).toBe(code)
  })
})
