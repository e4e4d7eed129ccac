import { beforeAll, describe, expect, it } from 'vitest'
import { hashKey } from '../../../server/consents/idempotency.ts'
import { type TestAccount, useService } from '../../support/service.ts'

const service = useService()
const path = '/api/v1/consents'
let account: TestAccount
let count = 0

beforeAll(async () => {
  account = await service.newAccount()
})

function newKey(): string {
  count += 1
  return `key-${count}`
}

function create(key: string, body: object = {}, { key: apiKey, siteId } = account) {
  const headers = { 'idempotency-key': key }
  return service.call('POST', path, { key: apiKey, headers, body: { site_id: siteId, ...body } })
}

async function stored(key: string): Promise<number> {
  const rows = await service.sql`
    select from idempotency_keys k join consents c on c.account_id = k.account_id and c.id = k.consent_id
    where k.key = ${hashKey(key)}`
  return rows.length
}

describe('POST /api/v1/consents › Idempotency-Key › 201', () => {
  it('replays the first response byte for byte for the same body, with Idempotent-Replayed: true', async () => {
    const key = newKey()
    const first = await create(key, { subject_id: 'a', preferences: { a: 1, b: 2 } })
    const again = await create(key, { preferences: { b: 2, a: 1 }, subject_id: 'a' })
    expect([first.status, again.status]).toEqual([201, 201])
    expect(again.text).toBe(first.text)
    expect(first.headers['idempotent-replayed']).toBeUndefined()
    expect(again.headers['idempotent-replayed']).toBe('true')
    expect((await service.sql`select from consents where subject_id = 'a'`).length).toBe(1)
  })

  it('replays the first response after the record was changed and deleted', async () => {
    const key = newKey()
    const first = await create(key, { accepted: true, preferences: { a: 1 } })
    const record = `${path}/${first.body.id}`
    await service.call('PUT', record, { key: account.key, body: { accepted: false, preferences: {} } })
    await service.call('DELETE', record, { key: account.key })
    expect((await create(key, { accepted: true, preferences: { a: 1 } })).text).toBe(first.text)
    expect((await service.call('GET', record, { key: account.key })).status).toBe(404)
  })

  it('replays the first response after its site was archived', async () => {
    const own = await service.newAccount()
    const key = newKey()
    const first = await create(key, { subject_id: 'a' }, own)
    const headers = await service.signIn(own)
    await service.call('PATCH', `/api/v1/sites/${own.siteId}`, { headers, body: { archived: true } })
    expect((await create(newKey(), { subject_id: 'a' }, own)).status).toBe(404)
    expect(await create(key, { subject_id: 'a' }, own)).toMatchObject({ status: 201, text: first.text })
  })

  it('creates one record for 32 concurrent requests with the same key', async () => {
    const key = newKey()
    const answers = await Promise.all(Array.from({ length: 32 }, () => create(key, { subject_id: 'twin' })))
    expect(new Set(answers.map(answer => answer.text)).size).toBe(1)
    expect(answers.filter(answer => answer.headers['idempotent-replayed'] === undefined)).toHaveLength(1)
    expect((await service.sql`select from consents where subject_id = 'twin'`).length).toBe(1)
    expect((await service.sql`select from consent_history where consent_id = ${answers[0]?.body.id}`).length).toBe(1)
  })

  it('separates the keys of accounts, and creates another record after 24 hours', async () => {
    const [key, other] = [newKey(), await service.newAccount()]
    const first = await create(key)
    expect((await create(key, {}, other)).body.id).not.toBe(first.body.id)
    await service.sql`update idempotency_keys set created_at = ${new Date(Date.now() - 24 * 60 * 60 * 1000 - 1000)}`
    const later = await create(key, { subject_id: 'later' })
    expect(later.body.id).not.toBe(first.body.id)
    expect((await create(key, { subject_id: 'later' })).text).toBe(later.text)
    expect(await stored(key)).toBe(2)
  })

  it('creates another record after 24 hours even when the cached policy version is outdated', async () => {
    const [key, other] = [newKey(), await service.newAccount()]
    const first = await create(key, {}, other)
    await service.sql`
      update idempotency_keys set created_at = ${new Date(Date.now() - 24 * 60 * 60 * 1000 - 1000)}
      where account_id = ${other.accountId}`
    await service.sql`update sites set policy_version = 2 where id = ${other.siteId}`
    const later = await create(key, { subject_id: 'later' }, other)
    expect([later.status, later.body.policy_version]).toEqual([201, 2])
    expect(later.body.id).not.toBe(first.body.id)
  })

  it('accepts every printable ASCII character, up to 255 of them', async () => {
    for (const key of ['~', ' !"', 'k'.repeat(255)]) expect((await create(key)).status).toBe(201)
  })
})

describe('POST /api/v1/consents › Idempotency-Key › 400', () => {
  it.each([[''], ['k'.repeat(256)], ['caf\u00e9'], ['tab\there']])('rejects the key %j', async key => {
    const answer = await create(key)
    expect([answer.status, answer.body.error]).toEqual([400, 'invalid_request'])
    expect(await stored(key)).toBe(0)
  })

  it('does not use up a key sent with an invalid body', async () => {
    const key = newKey()
    expect((await create(key, { accepted: 1 })).status).toBe(400)
    expect((await create(key)).headers['idempotent-replayed']).toBeUndefined()
  })
})

describe('POST /api/v1/consents › Idempotency-Key › 404', () => {
  it('does not use up a key sent with an unknown site', async () => {
    const key = newKey()
    const site = { site_id: '01890000-0000-7000-8000-000000000000' }
    for (const policy of [{}, { policy_version: 1 }])
      expect((await create(key, { ...site, ...policy })).status).toBe(404)
    expect((await create(key)).status).toBe(201)
  })
})

describe('POST /api/v1/consents › Idempotency-Key › 409', () => {
  it('rejects a different body with the same key, and stores none of it', async () => {
    const key = newKey()
    await create(key, { subject_id: 'one' })
    const answer = await create(key, { subject_id: 'two' })
    expect([answer.status, answer.body.error]).toEqual([409, 'conflict'])
    expect((await service.sql`select from consents where subject_id = 'two'`).length).toBe(0)
  })
})
