import { setTimeout as delay } from 'node:timers/promises'
import type { Sql } from 'postgres'
import { beforeEach, describe, expect, it } from 'vitest'
import { deleteUser } from '../../../server/accounts/queries.ts'
import { addUser, listUsers, removeUser } from '../../../server/accounts/users.ts'
import { Cache } from '../../../server/cache.ts'
import { newId } from '../../../server/ids.ts'
import { createKey } from '../../../server/keys/service.ts'
import { type ApiKey, OperatorError } from '../../../src/contract/index.ts'
import { type TestAccount, useCheapPasswords, useService } from '../../support/service.ts'
import { makeKey } from '../keys/keys.ts'
import { verified } from '../verify/verified.ts'

const service = useService()
useCheapPasswords()
const password = 'a long password'
let account: TestAccount
let email = ''

beforeEach(async () => {
  account = await service.newAccount()
  email = `${newId()}@example.com`
})

const add = (fields: Partial<Parameters<typeof addUser>[1]> = {}) =>
  addUser(service.sql, { account: account.accountId, email, role: 'reader', password, ...fields })
const signIn = (email: string, password: string) =>
  service.call('POST', '/api/v1/session', { body: { email, password } })
const rows = async () => [
  await service.sql`select t::text as row from users t order by 1`,
  await service.sql`select t::text as row from logins t order by 1`,
]

describe('addUser', () => {
  it.each(['owner', 'reader'] as const)('adds an %s, who can sign in with this role', async role => {
    const made = await add({ role, email: email.toUpperCase(), account: account.email.toUpperCase() })
    expect(made).toEqual({
      account_id: account.accountId,
      id: expect.any(String),
      email,
      role,
      keys: 0,
      created_at: expect.any(String),
      password: null,
    })
    const { status, body } = await signIn(email, password)
    expect([status, body.account_id, body.user]).toEqual([201, account.accountId, { id: made.id, email, role }])
  })

  it('generates a password', async () => {
    const made = await add({ password: undefined })
    expect((await signIn(email, made.password ?? '')).status).toBe(201)
  })

  it.each([
    ['an e-mail that has a user', () => ({ email: account.email })],
    ['no e-mail', () => ({ email: 'maria' })],
    ['a short password', () => ({ password: '1234567' })],
    ['an unknown account', () => ({ account: newId() })],
    ['an account by an unknown e-mail', () => ({ account: 'nobody@example.com' })],
    ['no account where there are several', () => ({ account: undefined })],
  ])('rejects %s, and changes nothing', async (_, fields) => {
    await service.newAccount()
    const before = await rows()
    await expect(add(fields())).rejects.toThrow(OperatorError)
    expect(await rows()).toEqual(before)
  })
})

describe('listUsers', () => {
  it('returns the users of one account or of all, oldest first', async () => {
    await add()
    const users = await listUsers(service.sql, email)
    expect(users.map(each => [each.email, each.role])).toEqual([
      [account.email, 'owner'],
      [email, 'reader'],
    ])
    expect((await listUsers(service.sql)).length).toBeGreaterThanOrEqual(2)
    await expect(listUsers(service.sql, 'nobody@example.com')).rejects.toThrow('no account')
  })
})

describe('removeUser', () => {
  it('ends the user’s sessions and rejects new sign-ins', async () => {
    await add()
    const { headers } = await signIn(email, password)
    const cookie = String(headers['set-cookie']).split(';')[0] ?? ''
    const get = () => service.call('GET', '/api/v1/consents', { headers: { cookie } })
    expect((await get()).status).toBe(200)
    expect(await removeUser(service.sql, { email: email.toUpperCase() })).toMatchObject({ email, role: 'reader' })
    expect([(await get()).status, (await signIn(email, password)).status]).toEqual([401, 401])
    expect((await listUsers(service.sql, account.accountId)).map(each => each.email)).toEqual([account.email])
  })

  it.each([
    [undefined, [401, 401], 200],
    [true, [200, 200], 200],
  ])(
    'with keepKeys %s leaves these keys valid, and lists the keys that are revoked or kept',
    async (keepKeys, own, first) => {
      await add({ role: 'owner' })
      const session = {
        cookie: String((await signIn(email, password)).headers['set-cookie']).replace(/;.*/, ''),
        origin: service.url,
      }
      const made = [await makeKey(service, session), await makeKey(service, session, { name: 'CI' })]
      const revoked = await makeKey(service, session)
      await service.call('DELETE', `/api/v1/keys/${revoked.id}`, { headers: session })
      const others = await service.signIn(account)
      const list = async () => (await service.call('GET', '/api/v1/keys', { headers: others })).body.data
      expect((await list()).map((key: ApiKey) => key.created_by)).toEqual([email, email, email, null])
      expect((await listUsers(service.sql, email)).map(({ keys }) => keys)).toEqual([0, 2])

      const names = made.map(({ id, name }) => ({ id, name }))
      const removed = await removeUser(service.sql, { email, keepKeys })
      expect(removed).toMatchObject({ ended_keys: keepKeys ? [] : names, kept_keys: keepKeys ? names : [] })
      const node = await service.addNode() // which has seen no key yet
      const use = async (key: string) => (await node.call('GET', '/api/v1/consents', { key })).status
      expect([await use(made[0]?.key ?? ''), await use(made[1]?.key ?? '')]).toEqual(own)
      expect(await use(account.key)).toBe(first)
      expect((await list())[0].created_by).toBe(removed.id)
      expect((await verified(service.sql, { account: account.accountId })).findings).toEqual([])
    },
  )

  it('prevents a session still open on another node from creating a key', async () => {
    const { id } = await add({ role: 'owner' })
    await removeUser(service.sql, { email })
    const caller = { kind: 'user', id, accountId: account.accountId, siteIds: null } as const
    await expect(createKey({ sql: service.sql, keys: new Cache() }, caller, { name: 'late' })).rejects.toThrow(
      'removed',
    )
  })

  it('removes one of several owners, but never the last one', async () => {
    await add({ role: 'owner' })
    await removeUser(service.sql, { email: account.email })
    await add({ email: `x${email}` })
    const before = await rows()
    await expect(removeUser(service.sql, { email })).rejects.toThrow('is the last owner')
    await expect(removeUser(service.sql, { email: account.email })).rejects.toThrow('no user has the e-mail')
    expect(await rows()).toEqual(before)
  })

  it('when two owners are removed concurrently, keeps one of them', async () => {
    await add({ role: 'owner' })
    let second: Promise<unknown> = Promise.resolve()
    await service.sql.begin(async tx => {
      const { accountId, userId } = account
      await deleteUser(tx as unknown as Sql, { accountId, userId }, new Date())
      second = removeUser(service.sql, { email }).catch((error: Error) => error.message)
      await delay(50)
    })
    expect(await second).toContain('is the last owner')
    const owners = await listUsers(service.sql, account.accountId)
    expect(owners.map(each => each.email)).toEqual([email])
  })
})
