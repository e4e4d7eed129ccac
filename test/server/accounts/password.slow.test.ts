import { beforeEach, describe, expect, it } from 'vitest'
import { resetPassword } from '../../../server/accounts/service.ts'
import { newId } from '../../../server/ids.ts'
import { OperatorError } from '../../../src/contract/index.ts'
import { type TestAccount, untilAdmitted, useCheapPasswords, useService } from '../../support/service.ts'

const service = useService()
useCheapPasswords()
const old = 'the old password'
let account: TestAccount

beforeEach(async () => {
  account = await service.newAccount({ password: old })
})

async function signIn(password: string, email = account.email): Promise<number> {
  const send = () => service.call('POST', '/api/v1/session', { body: { email, password } })
  return (await untilAdmitted(send)).status
}

function user({ userId }: TestAccount) {
  return service.sql<{ password_hash: string; session_version: number }[]>`
    select password_hash, session_version from users where id = ${userId}`
}

describe('resetPassword › success', () => {
  it('accepts the given password at sign-in, rejects the old one, and returns neither', async () => {
    expect(await signIn(old)).toBe(201)
    const password = ' ﬁve wörds 🍪 "here" '
    expect(await resetPassword(service.sql, { email: account.email, password })).toEqual({
      email: account.email,
      password: null,
    })
    expect([await signIn(old), await signIn(password), await signIn(password.trim())]).toEqual([401, 201, 401])
  })

  it('returns a generated password, which signs in and differs each time', async () => {
    const made = await resetPassword(service.sql, { email: account.email })
    expect(made.password).toMatch(/^[\w-]{24}$/)
    expect([await signIn(old), await signIn(made.password ?? '')]).toEqual([401, 201])
    const again = await resetPassword(service.sql, { email: account.email })
    expect(again.password).not.toBe(made.password)
    expect(await signIn(made.password ?? '')).toBe(401)
  })

  it('finds the user by e-mail in any case', async () => {
    const reset = await resetPassword(service.sql, {
      email: account.email.toUpperCase(),
      password: 'new password',
    })
    expect(reset.email).toBe(account.email)
    expect(await signIn('new password')).toBe(201)
  })

  it('ends every session, and does not change API keys or other accounts', async () => {
    const other = await service.newAccount({ password: old })
    const [own, theirs] = [await service.signIn(account), await service.signIn(other)]
    await resetPassword(service.sql, { email: account.email, password: 'new password' })
    const statuses = [own, theirs].map(headers => service.call('GET', '/api/v1/session', { headers }))
    expect((await Promise.all(statuses)).map(({ status }) => status)).toEqual([401, 200])
    expect((await service.call('GET', '/api/v1/consents', { key: account.key })).status).toBe(200)
    expect(await signIn(old, other.email)).toBe(201)
  })

  it('when two passwords are set concurrently, ends the sessions of both', async () => {
    const reset = (password: string) => resetPassword(service.sql, { email: account.email, password })
    await Promise.all([reset('password one'), reset('password two')])
    const [row] = await user(account)
    expect(row?.session_version).toBe(3)
    expect([await signIn('password one'), await signIn('password two')].sort()).toEqual([201, 401])
  })
})

describe('resetPassword › rejected input', () => {
  it.each([
    ['an e-mail that nobody signs in with', () => ({ email: `${newId()}@example.com`, password: 'new password' })],
    ['an e-mail with a space', () => ({ email: ` ${account.email}`, password: 'new password' })],
    ['an empty e-mail', () => ({ email: '' })],
    ['a password of seven characters', () => ({ email: account.email, password: '🍪🍪🍪🍪🍪🍪🍪' })],
    ['an empty password', () => ({ email: account.email, password: '' })],
  ])('rejects %s, and changes nothing', async (_name, request) => {
    const before = await user(account)
    const session = await service.signIn(account)
    await expect(resetPassword(service.sql, request())).rejects.toThrow(OperatorError)
    expect(await user(account)).toEqual(before)
    expect((await service.call('GET', '/api/v1/session', { headers: session })).status).toBe(200)
  })
})
