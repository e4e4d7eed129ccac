import { randomBytes, scryptSync } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { insertAccount } from '../../../server/accounts/queries.ts'
import { createAccount } from '../../../server/accounts/service.ts'
import { hashOf } from '../../../server/auth/credential.ts'
import { newId } from '../../../server/ids.ts'
import { OperatorError } from '../../../src/contract/index.ts'
import { useCheapPasswords, useService } from '../../support/service.ts'

const service = useService()
const root = '/api/v1/consents'
const uuid = expect.stringMatching(/^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/)
const freshEmail = () => `${newId()}@example.com`

describe('createAccount › result', () => {
  useCheapPasswords()

  it('creates the owner, one site and one key, and nothing else', async () => {
    const email = freshEmail()
    expect(await createAccount(service.sql, { email })).toEqual({
      account_id: uuid,
      user: { id: uuid, email, password: expect.stringMatching(/^[\w-]{24}$/) },
      site: { id: uuid, name: 'default', token: expect.stringMatching(/^st-/) },
      api_key: expect.stringMatching(/^sk-/),
    })
  })

  it('returns a key that can create records for the site immediately', async () => {
    const account = await createAccount(service.sql, { email: freshEmail() })
    const body = { site_id: account.site.id, accepted: true }
    const created = await service.call('POST', root, { key: account.api_key, body })
    expect([created.status, created.body.policy_version]).toEqual([201, 1])
  })

  it('does not reveal earlier accounts', async () => {
    const [one, other] = [
      await createAccount(service.sql, { email: freshEmail() }),
      await createAccount(service.sql, { email: freshEmail() }),
    ]
    const answer = await service.call('POST', root, { key: other.api_key, body: { site_id: one.site.id } })
    expect(answer.status).toBe(404)
  })

  it('stores the site name unchanged', async () => {
    const site = ' Café “Ω” 🍪 '
    expect((await createAccount(service.sql, { email: freshEmail(), site })).site.name).toBe(site)
  })
})

describe('createAccount › password', () => {
  it('is in the result only if it was generated', async () => {
    const given = await createAccount(service.sql, { email: freshEmail(), password: 'correct horse' })
    expect(given.user.password).toBeNull()
    const [one, other] = [
      await createAccount(service.sql, { email: freshEmail() }),
      await createAccount(service.sql, { email: freshEmail() }),
    ]
    expect(one.user.password).not.toBe(other.user.password)
  })

  it.each([
    ['given', 'ﬁ correct horse Ω'],
    ['generated', undefined],
  ])('is stored as a PHC string of scrypt with 2^17 rounds when %s', async (_name, password) => {
    const email = freshEmail()
    const account = await createAccount(service.sql, password === undefined ? { email } : { email, password })
    const [user] = await service.sql<{ hash: string }[]>`
        select password_hash as hash from users u join logins l on l.user_id = u.id where l.email = ${email}`
    const [, salt = '', hash] =
      /^\$scrypt\$ln=17,r=8,p=1\$([A-Za-z\d+/]{22})\$([A-Za-z\d+/]{43})$/.exec(user?.hash ?? '') ?? []
    const cost = { N: 2 ** 17, r: 8, p: 1, maxmem: 2 ** 28 }
    const text = (password ?? account.user.password ?? '').normalize('NFKC')
    const derived = scryptSync(text, Buffer.from(salt, 'base64'), 32, cost)
    expect(hash).toBe(derived.toString('base64').replace('=', ''))
  })

  it('has its own salt, and at least eight characters', async () => {
    const password = 'the same'
    const emails = [freshEmail(), freshEmail()]
    for (const email of emails) await createAccount(service.sql, { email, password })
    const rows =
      await service.sql`select distinct password_hash from users u join logins l on l.user_id = u.id where l.email in ${service.sql(emails)}`
    expect(rows).toHaveLength(2)
    const short = createAccount(service.sql, { email: freshEmail(), password: '🍪🍪🍪🍪🍪🍪🍪' })
    await expect(short).rejects.toThrow(OperatorError)
  })
})

describe('createAccount › e-mail', () => {
  useCheapPasswords()

  it.each<[string, (email: string) => string]>([
    ['is', email => email],
    ['is, in another case,', email => email.toUpperCase()],
  ])('is rejected without a write when it %s that of another account', async (_name, again) => {
    const email = `ada.${freshEmail()}`
    await createAccount(service.sql, { email })
    const before = await counts()
    await expect(createAccount(service.sql, { email: again(email) })).rejects.toThrow(OperatorError)
    expect(await counts()).toEqual(before)
  })

  it('is stored in lower case', async () => {
    const email = freshEmail()
    const account = await createAccount(service.sql, { email: email.toUpperCase() })
    expect(account.user.email).toBe(email)
  })

  it('is accepted for only one account when ten concurrent calls use it', async () => {
    await Promise.all(Array.from({ length: 10 }, () => service.sql`select pg_sleep(0.05)`)) // opens the pool
    for (let round = 0; round < 30; round += 1) {
      const email = freshEmail()
      const written = await Promise.all(Array.from({ length: 10 }, () => write(email).catch(() => false)))
      expect(written.filter(Boolean)).toHaveLength(1)
      expect(await service.sql`select from logins where email = ${email}`).toHaveLength(1)
    }
  })

  it.each(['', 'ada', '@', 'a@', '@b', 'a b@c', 'a@b@c', 'a@b\n', `${'a'.repeat(250)}@b.cd`])(
    'is rejected when it is %j',
    async email => {
      await expect(createAccount(service.sql, { email })).rejects.toThrow(OperatorError)
    },
  )
})

describe('createAccount › quota', () => {
  useCheapPasswords()

  it.each([
    ['unlimited without a plan', {}, null],
    ['unlimited', { plan: 'unlimited' }, null],
    ['10,000 in the plan free', { plan: 'free' }, 10_000],
    ['1,000,000 in the plan pro', { plan: 'pro' }, 1_000_000],
    ['its own when it is given', { plan: 'pro', monthlyQuota: 5 }, 5],
    ['none at all when it is zero', { monthlyQuota: 0 }, 0],
  ] as const)('is %s', async (_name, options, quota) => {
    const { account_id, api_key } = await createAccount(service.sql, { email: freshEmail(), ...options })
    const [row] = await service.sql`
      select a.monthly_quota::int as quota, k.key_hash as hash from accounts a join api_keys k using (account_id)
      where account_id = ${account_id}`
    expect(row).toEqual({ quota, hash: hashOf(api_key) })
    const answer = await service.call('GET', root, { key: api_key })
    expect(answer.headers['x-quota-limit']).toBe(quota === null ? undefined : String(quota))
    expect(answer.status).toBe(quota === 0 ? 429 : 200)
  })
})

async function counts() {
  const { sql } = service
  return sql`select (select count(*) from accounts) as accounts, (select count(*) from users) as users,
    (select count(*) from sites) as sites, (select count(*) from api_keys) as keys`
}

/** The rows of an account as createAccount writes them, without the third of a second for the password. */
function write(email: string): Promise<boolean> {
  return insertAccount(service.sql, {
    accountId: newId(),
    plan: 'unlimited',
    monthlyQuota: null,
    user: { id: newId(), email, passwordHash: 'none' },
    site: { id: newId(), name: 'a site', tokenHash: randomBytes(32) },
    key: { id: newId(), name: 'a key', keyHash: randomBytes(32), hint: 'a1b2' },
    at: new Date(),
  })
}
