import { beforeAll, describe, expect, it } from 'vitest'
import { coverAll } from '../../../server/evidence/log.ts'
import { openSigner } from '../../../server/evidence/signer.ts'
import { monthOf } from '../../../server/quota/quota.ts'
import type { Consent } from '../../../src/contract/index.ts'
import { type TestAccount, useService } from '../../support/service.ts'
import { verified } from '../verify/verified.ts'
import { expectRefused, newOwner, type Owner, recordKeys, root, unknownId } from './records.ts'

const service = useService()
const path = `${root}/batch`
let owner: Owner
beforeAll(async () => {
  owner = await newOwner(service)
})

type Outcome = { status: number; consent: Consent; replayed: boolean; error: object; retry_after: number }

async function batch(records: readonly unknown[], { key }: TestAccount = owner) {
  const answer = await service.call('POST', path, { key, body: { records } })
  return { answer, results: (answer.body.results ?? []) as Outcome[] }
}

const statuses = (results: readonly Outcome[]) => results.map(({ status }) => status)
const row = (fields: object = {}) => ({ site_id: owner.siteId, ...fields })

async function countOf({ accountId }: TestAccount): Promise<number> {
  const [found] = await service.sql`select count(*)::int as count from consents where account_id = ${accountId}`
  return found?.['count']
}

async function used({ accountId }: TestAccount): Promise<number> {
  await service.quota.settle()
  const [found] = await service.sql`
    select used::int as used from usage where account_id = ${accountId} and month = ${monthOf(new Date())}::date`
  return found?.['used'] ?? 0
}

describe('POST /api/v1/consents/batch › 200', () => {
  it('returns for each row what a single create would return', async () => {
    const rows = [
      row({ subject_id: 'a"\\,{}\n', accepted: true, preferences: { b: [1.5, 'é"\\'], a: null } }),
      row({ acepted: true }),
      row({ site_id: unknownId }),
      row({ preferences: [] }),
      row(),
      row({ consent_id: 'null', ip_address: '203.0.113.7', user_agent: '', policy_version: 3 }),
      { accepted: true },
      [],
      null,
      'text',
    ]
    const { answer, results } = await batch(rows)
    expect(answer.status).toBe(200)
    for (const [index, sent] of rows.entries()) {
      const single = await owner.post(sent === null ? 'null' : sent === 'text' ? '"text"' : sent)
      const { status, consent, error, retry_after } = results[index] as Outcome
      if (single.status !== 201) {
        expect({ status, error, retry_after }).toEqual({
          status: single.status,
          error: single.body,
          retry_after: null,
        })
        continue
      }
      const { id, created_at, updated_at, ...others } = single.body
      expect(consent).toEqual({ ...consent, ...others })
      expect(Object.keys(consent).sort()).toEqual(recordKeys)
      expect((await owner.get(consent.id)).body).toEqual(consent)
    }
  })

  it('creates a thousand records in row order, and their hash chains and log verify', async () => {
    const other = await newOwner(service)
    const labels = Array.from({ length: 1000 }, (_, index) => `row ${index}`)
    const { results } = await batch(
      labels.map(consent_id => ({ site_id: other.siteId, consent_id, preferences: { label: consent_id } })),
      other,
    )
    expect(new Set(statuses(results))).toEqual(new Set([201]))
    expect(results.map(({ consent }) => consent.consent_id)).toEqual(labels)
    const ids = results.map(({ consent }) => consent.id)
    expect([...ids].sort()).toEqual(ids)
    const page = await other.list({ limit: '100' })
    expect(page.body.data.map(({ id }: Consent) => id)).toEqual(ids.slice(-100).reverse())
    const history = await other.history(ids[500] ?? '')
    expect(history.body.data).toMatchObject([
      { action: 'created', version: 1, changed_by: 'api_key', actor_id: other.keyId },
    ])
    await coverAll({ sql: service.sql, signer: await openSigner(service.sql, null) })
    const { findings, inspected } = await verified(service.sql, { account: other.accountId })
    expect([findings, inspected.records, inspected.entries]).toEqual([[], 1000, 1000])
  })
})

describe('POST /api/v1/consents/batch › Prefer: return=minimal', () => {
  const prefer = async (value: string, records: readonly unknown[]) => {
    const answer = await service.call('POST', path, {
      key: owner.key,
      headers: { prefer: value },
      body: { records },
    })
    return { applied: answer.headers['preference-applied'], results: answer.body.results as Outcome[] }
  }

  it('returns only the id of created and replayed rows, and failed rows in full', async () => {
    const [made, refused] = [row({ idempotency_key: 'minimal' }), row({ site_id: unknownId })]
    const { applied, results } = await prefer('return=minimal', [made, refused, made])
    const [{ consent }] = results as [Outcome]
    const { id } = consent
    expect(applied).toBe('return=minimal')
    expect(results[0]).toEqual({ status: 201, consent: { id }, replayed: false })
    expect(results[1]).toMatchObject({ status: 404, error: { error: 'not_found' } })
    expect(results[2]).toEqual({ status: 201, consent: { id }, replayed: true })
    expect((await batch([made])).results[0]).toMatchObject({
      consent: (await owner.get(id)).body,
      replayed: true,
    })
    expect((await prefer('return=minimal', [made])).results).toEqual([results[2]])
  })

  it.each([
    ['return="minimal"', true],
    ['respond-async, Return = Minimal; x=y', true],
    ['return=representation', false],
    ['return=minimalist', false],
    ['return=representation, return=minimal', false],
    ['return=minimal, return=representation', true],
    ['minimal', false],
    ['x="return=minimal"', false],
  ])('"%s" selects minimal results: %s', async (value, isMinimal) => {
    const { applied, results } = await prefer(value, [row()])
    expect(applied).toBe(isMinimal ? 'return=minimal' : undefined)
    expect(Object.keys(results[0]?.consent ?? {}).sort()).toEqual(isMinimal ? ['id'] : recordKeys)
  })
})

describe('POST /api/v1/consents/batch › idempotency_key', () => {
  it('replays the first response of a batch or a single create, any number of times', async () => {
    const [one, two] = [row({ subject_id: 'one' }), row({ subject_id: 'two' })]
    const single = await owner.post(one, { 'idempotency-key': 'of both' })
    const first = await batch([
      { ...one, idempotency_key: 'of both' },
      { ...two, idempotency_key: 'of two' },
      { ...two, idempotency_key: 'of two' },
    ])
    const again = await batch([{ ...two, idempotency_key: 'of two' }])
    const { replayed, ...rest } = again.results[0] as Outcome
    expect(statuses(first.results)).toEqual([201, 201, 201])
    expect(first.results.map(result => result.replayed)).toEqual([true, false, true])
    expect(first.results[0]?.consent).toEqual(single.body)
    expect(first.results[2]?.consent).toEqual(first.results[1]?.consent)
    expect([rest, replayed]).toEqual([{ status: 201, consent: first.results[1]?.consent }, true])
    const later = await owner.post(two, { 'idempotency-key': 'of two' })
    expect([later.body, later.headers['idempotent-replayed']]).toEqual([rest.consent, 'true'])
  })

  it('returns 409 for a different body, in the same batch and in a later one', async () => {
    const { results } = await batch([row({ idempotency_key: 'k' }), row({ idempotency_key: 'k', accepted: true })])
    expect(statuses(results)).toEqual([201, 409])
    const next = await batch([row({ idempotency_key: 'k', accepted: true }), row({ idempotency_key: 'k' })])
    expect(statuses(next.results)).toEqual([409, 201])
    expect(next.results[1]).toMatchObject({ replayed: true, consent: results[0]?.consent })
  })

  it('can be reused after 24 hours, and after a failed row', async () => {
    const { results } = await batch([
      row({ idempotency_key: 'free', accepted: 1 }),
      row({ idempotency_key: 'free', site_id: unknownId }),
      row({ idempotency_key: 'free' }),
    ])
    expect(statuses(results)).toEqual([400, 404, 201])
    await service.sql`update idempotency_keys set created_at = ${new Date(Date.now() - 24 * 60 * 60 * 1000 - 1000)}`
    const { results: later } = await batch([row({ idempotency_key: 'free', accepted: true })])
    expect(later).toMatchObject([{ status: 201, replayed: false }])
  })

  it.each([[''], ['k'.repeat(256)], ['caf\u00e9'], ['tab\there'], [null], [1]])(
    'returns 400 for the key %j',
    async key => {
      const { results } = await batch([row({ idempotency_key: key })])
      expect(results[0]).toMatchObject({ status: 400, error: { error: 'invalid_request' } })
    },
  )
})

describe('POST /api/v1/consents/batch › 400', () => {
  const member = (text: string) => `{"records":[{"site_id":"${unknownId}"},${text}]}`
  it.each<[string, unknown]>([
    ['no rows', { records: [] }],
    ['1,001 rows', { records: Array(1001).fill({}) }],
    ['a key twice in a row', member('{"accepted":true,"accepted":false}')],
    ['__proto__ in a row', member('{"preferences":{"__proto__":{}}}')],
    ['a number in a row that is not kept', member('{"policy_version":9007199254740993}')],
    ['a row that is too deep', member(`{"preferences":${'{"a":'.repeat(40)}1${'}'.repeat(40)}}`)],
  ])('rejects %s and writes nothing', async (_what, body) => {
    const before = await countOf(owner)
    expectRefused(await service.call('POST', path, { key: owner.key, body }))
    expect(await countOf(owner)).toBe(before)
  })

  it.each(['k', ''])('rejects the header Idempotency-Key: %j', async key => {
    const before = await countOf(owner)
    const answer = await service.call('POST', path, {
      key: owner.key,
      headers: { 'idempotency-key': key },
      body: { records: [row({ idempotency_key: 'of the row' })] },
    })
    expectRefused(answer, 'give each row an idempotency_key instead')
    expect(await countOf(owner)).toBe(before)
  })
})

describe('POST /api/v1/consents/batch › 413', () => {
  it('accepts a body of 1 MiB and rejects one byte more', async () => {
    const body = JSON.stringify({ records: [row()] }).padEnd(1024 * 1024)
    expect((await service.call('POST', path, { key: owner.key, body })).status).toBe(200)
    expect((await service.call('POST', path, { key: owner.key, body: `${body} ` })).status).toBe(413)
  })
})

describe('POST /api/v1/consents/batch › quota', () => {
  it('spends one unit per row, and returns 429 for rows without a unit', async () => {
    const poor = await service.newAccount({ monthlyQuota: 10 })
    const good = { site_id: poor.siteId }
    const first = await batch([good, { site_id: unknownId }, {}, good, good, good], poor)
    expect(statuses(first.results)).toEqual([201, 404, 400, 201, 201, 201])
    expect([first.answer.headers['x-quota-remaining'], await used(poor)]).toEqual(['4', 6])
    const second = await batch([...Array(4).fill(good), {}, good, good], poor)
    expect(statuses(second.results)).toEqual([201, 201, 201, 201, 429, 429, 429])
    expect(second.results[4]).toMatchObject({
      error: { error: 'quota_exceeded' },
      retry_after: expect.any(Number),
    })
    expect([second.answer.headers['x-quota-remaining'], await used(poor)]).toEqual(['0', 10])
    expect((await batch([good], poor)).answer.status).toBe(429)
    expect(await countOf(poor)).toBe(8)
  })

  it('is spent to the last unit by concurrent batches, and never exceeded', async () => {
    const poor = await service.newAccount({ monthlyQuota: 500 })
    const rows = Array(70).fill({ site_id: poor.siteId })
    const done = await Promise.all(Array.from({ length: 10 }, () => batch(rows, poor)))
    const all = done.flatMap(({ results }) => statuses(results))
    expect(all.filter(status => status === 201)).toHaveLength(500)
    expect([await countOf(poor), await used(poor)]).toEqual([500, 500])
  })

  it('returns every unit when a batch fails with a server error', async () => {
    const poor = await service.newAccount({ monthlyQuota: 100 })
    await service.sql`alter table consents rename to consents_away`
    const { answer } = await batch(Array(60).fill({ site_id: poor.siteId }), poor)
    await service.sql`alter table consents_away rename to consents`
    expect(answer.status).toBe(500)
    expect(await used(poor)).toBe(0)
  })
})
