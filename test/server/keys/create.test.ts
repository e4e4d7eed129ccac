import { setTimeout as delay } from 'node:timers/promises'
import { beforeAll, describe, expect, it } from 'vitest'
import { hashOf, newApiKey } from '../../../server/auth/credential.ts'
import { type Signed, type TestAccount, useService } from '../../support/service.ts'
import { instant, uuidV7 } from '../consents/records.ts'
import { dumpDatabase, makeKey, path } from './keys.ts'

const service = useService()
const root = '/api/v1/consents'

let account: TestAccount
let session: Signed

beforeAll(async () => {
  account = await service.newAccount()
  session = await service.signIn(account)
})

function create(body: unknown, headers: Record<string, string> = session) {
  return service.call('POST', path, { body, headers })
}

describe('POST /api/v1/keys › 201', () => {
  it('returns the key and its secret, which works immediately', async () => {
    const { status, body, headers } = await create({ name: ' Shop “Ω” 🍪 ' })
    expect(body).toEqual({
      id: expect.stringMatching(uuidV7),
      name: ' Shop “Ω” 🍪 ',
      hint: body.key.slice(-4),
      scopes: ['read', 'write', 'erase'],
      site_ids: null,
      created_at: expect.stringMatching(instant),
      expires_at: null,
      created_by: account.email,
      last_used_on: null,
      revoked_at: null,
      key: expect.stringMatching(/^sk-[\dA-Za-z]{71}$/),
    })
    expect([status, headers['x-quota-limit']]).toEqual([201, undefined])
    expect((await service.call('GET', root, { key: body.key })).status).toBe(200)
  })

  it('returns the secret once: no list contains it, and the database stores only its hash', async () => {
    const { key, id } = await makeKey(service, session)
    expect((await service.call('GET', root, { key })).status).toBe(200)
    const list = await service.call('GET', path, { headers: session })
    const revoked = await service.call('DELETE', `${path}/${id}`, { headers: session })
    const dump = await dumpDatabase(service)
    for (const text of [list.text, revoked.text, dump]) {
      expect(text).toContain(id)
      expect(text).not.toContain(key.slice(3, -4))
      expect(text).not.toContain(key.slice(30, 60))
      expect(text).not.toContain(Buffer.from(key).toString('hex').slice(60, 120))
    }
    expect(dump).toContain(hashOf(key).toString('hex'))
  })

  it.each([[['erase', 'read']], [['write']], [['erase', 'write', 'read']]])(
    'stores the scopes %j in canonical order',
    async given => {
      const { scopes } = await makeKey(service, session, { scopes: given })
      expect(scopes).toEqual(['read', 'write', 'erase'].filter(scope => given.includes(scope)))
    },
  )

  it.each([
    ['2999-12-31T23:59:59.999Z', '2999-12-31T23:59:59.999Z'],
    ['2999-12-31T23:59:59+02:00', '2999-12-31T21:59:59.000Z'],
    ['2999-12-31T23:59:59.1239Z', '2999-12-31T23:59:59.123Z'],
    ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
  ])('expires at %s, returned as %s', async (expires_at, told) => {
    const key = await makeKey(service, session, { expires_at })
    expect(key.expires_at).toBe(told)
    expect((await service.call('GET', root, { key: key.key })).status).toBe(200)
  })

  it('creates a key that is rejected once it has expired, even if cached', async () => {
    const expires_at = new Date(Date.now() + 600).toISOString()
    const { key } = await makeKey(service, session, { expires_at })
    expect((await service.call('GET', root, { key })).status).toBe(200)
    while (Date.now() < Date.parse(expires_at) - 20) {
      await service.call('GET', root, { key })
      await delay(20)
    }
    await delay(Date.parse(expires_at) - Date.now() + 1)
    const [over, never] = [
      await service.call('GET', root, { key }),
      await service.call('GET', root, { key: newApiKey(account.accountId) }),
    ]
    expect([over.status, over.text]).toEqual([401, never.text])
  })
})

describe('POST /api/v1/keys › 400', () => {
  it.each<[string, unknown]>([
    ['a name of 101 characters', { name: '🍪'.repeat(101) }],
    ['a scope twice', { name: 'a', scopes: ['read', 'read'] }],
    ['a scope that there is not', { name: 'a', scopes: ['read', 'admin'] }],
    ['a scope in another case', { name: 'a', scopes: ['READ'] }],
    ['an end in the past', { name: 'a', expires_at: '2020-01-01T00:00:00Z' }],
    ['an end of this instant', { name: 'a', expires_at: new Date().toISOString() }],
    ['an end without an offset', { name: 'a', expires_at: '2999-01-01T00:00:00' }],
    ['an end that is no day', { name: 'a', expires_at: '2999-02-30T00:00:00Z' }],
  ])('rejects %s and creates nothing', async (_name, body) => {
    const before = await service.call('GET', path, { headers: session })
    const answer = await create(body)
    expect([answer.status, answer.body.error]).toEqual([400, 'invalid_request'])
    expect((await service.call('GET', path, { headers: session })).text).toBe(before.text)
  })

  it.each(['2020-01-01T00:00:00Z', '9999-12-31T23:59:59-01:00', '9999-12-31T23:59:59.999-00:01'])(
    'explains what is wrong with an expiry at %s',
    async expires_at => {
      const { status, body } = await create({ name: 'a', expires_at })
      expect(status).toBe(400)
      expect(body.message).toMatch(/^expires_at: /)
    },
  )
})
