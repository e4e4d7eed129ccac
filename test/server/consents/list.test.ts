import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { type Consent, filters } from '../../../src/contract/index.ts'
import { useService } from '../../support/service.ts'
import { type Filters, matching, populate, samples } from './population.ts'
import { expectRefused, newOwner, type Owner, recordKeys } from './records.ts'

const service = useService()
let owner: Owner
let records: Consent[]
let candidates: Required<Filters>
beforeAll(async () => {
  owner = await newOwner(service)
  records = await populate(service.sql, owner, 230)
  candidates = { ...samples, site_id: owner.siteId, include_deleted: 'true' }
})

const names = [...filters.map(({ name }) => name), 'include_deleted'] as const

function pick(chosen: readonly (typeof names)[number][]): Filters {
  return Object.fromEntries(chosen.map(name => [name, candidates[name]]))
}

/** Every page of a list from the first on, `limits` in turn; no page but a whole empty list may be empty. */
async function walk(filters: Filters, limits: readonly number[]): Promise<Consent[]> {
  const seen: Consent[] = []
  let cursor: string | null = null
  for (let turn = 0; turn === 0 || cursor !== null; turn += 1) {
    const limit = limits[turn % limits.length] ?? 50
    const answer = await owner.list({
      ...filters,
      limit: String(limit),
      ...(cursor === null ? {} : { cursor }),
    })
    expect(answer.status, answer.text).toBe(200)
    const { data, next_cursor } = answer.body
    expect(answer.body.limit).toBe(limit)
    if (turn > 0) expect(data.length).toBeGreaterThan(0)
    if (next_cursor !== null) expect(data).toHaveLength(limit)
    seen.push(...data)
    cursor = next_cursor
  }
  return seen
}

async function firstCursor(from: Owner, query: Filters = {}): Promise<string> {
  return (await from.list({ ...query, limit: '1' })).body.next_cursor
}

describe('GET /api/v1/consents › 200', () => {
  it('returns {data, limit, next_cursor} with whole records, newest first', async () => {
    const other = await newOwner(service)
    const created = [await other.create(), await other.create({ subject_id: 'one' }), await other.create()]
    const { status, body } = await other.list()
    expect(status).toBe(200)
    expect(body).toStrictEqual({ data: created.toReversed(), limit: 50, next_cursor: null })
    for (const record of body.data) expect(Object.keys(record).sort()).toEqual(recordKeys)
  })

  it('when the account has no records, returns an empty last page', async () => {
    const { body } = await (await newOwner(service)).list()
    expect(body).toEqual({ data: [], limit: 50, next_cursor: null })
  })

  it('returns 50 records unless limit is set', async () => {
    const live = matching(records, {})
    expect((await owner.list()).body).toMatchObject({ data: live.slice(0, 50), limit: 50 })
    expect((await owner.list({ limit: '1' })).body).toMatchObject({ data: live.slice(0, 1), limit: 1 })
    expect((await owner.list({ limit: '100' })).body).toMatchObject({ data: live.slice(0, 100), limit: 100 })
  })

  const pairs = names.flatMap((name, index) => names.slice(index).map(other => [...new Set([name, other])]))
  it.each(pairs.map(chosen => [chosen.join(' and '), chosen] as const))('filters by %s', async (_name, chosen) => {
    const filters = pick(chosen)
    const expected = matching(records, filters)
    expect(expected.length, 'a filter that is tested must match something').toBeGreaterThan(0)
    expect((await owner.list({ ...filters, limit: '100' })).body.data).toEqual(expected.slice(0, 100))
  })

  it('filters by accepted=false', async () => {
    expect(await walk({ accepted: 'false' }, [100])).toEqual(matching(records, { accepted: 'false' }))
  })

  it('when from and to are the same millisecond, returns all its records in any UTC offset', async () => {
    for (const { created_at } of records.slice(0, 5)) {
      const expected = matching(records, { from: created_at, to: created_at })
      expect(expected.length).toBeGreaterThan(20)
      expect(await walk({ from: created_at, to: created_at }, [30])).toEqual(expected)
      const local = `${new Date(Date.parse(created_at) + 7_200_000).toISOString().slice(0, -1)}+02:00`
      expect(await walk({ from: local, to: local.replace('T', 't') }, [100])).toEqual(expected)
    }
  })

  it('pages through every list from end to end, through ties and with any page size', async () => {
    const filters = fc.subarray([...names]).map(chosen => [...chosen])
    const limits = fc.array(fc.oneof(fc.integer({ min: 1, max: 100 }), fc.integer({ min: 1, max: 9 })), {
      minLength: 1,
      maxLength: 6,
    })
    const property = fc.asyncProperty(filters, limits, async (chosen, sizes) => {
      expect(await walk(pick(chosen), sizes)).toEqual(matching(records, pick(chosen)))
    })
    await fc.assert(property, { numRuns: 60, examples: [[['include_deleted'], [1]]] })
  })

  it('continues from the cursor when records are created, changed and deleted between pages', async () => {
    const other = await newOwner(service)
    const created: Consent[] = []
    for (let count = 0; count < 6; count += 1) created.unshift(await other.create())
    const [, second, third, fourth, ...rest] = created
    const cursor = (await other.list({ limit: '2' })).body.next_cursor
    await other.create()
    await other.remove(second?.id ?? '')
    await other.remove(third?.id ?? '')
    const changed = await other.update(fourth?.id ?? '', { accepted: true })
    expect((await other.list({ limit: '100', cursor })).body.data).toEqual([changed.body, ...rest])
  })
})

describe('GET /api/v1/consents › 400', () => {
  it('rejects a from after to, also across offsets', async () => {
    const { from, to } = candidates
    expectRefused(await owner.list({ from: to, to: from }), 'from')
    expectRefused(await owner.list({ from: '2026-05-17T10:00:00+01:00', to: '2026-05-17T08:59:59.999Z' }), 'from')
  })

  it('rejects a cursor of other filters', async () => {
    const sets: Filters[] = [{}, ...names.map(name => pick([name])), { subject_id: 'zoe\u0308' }, { accepted: 'false' }]
    for (const made of sets) {
      const cursor = await firstCursor(owner, made)
      const answers = await Promise.all(sets.map(filters => owner.list({ ...filters, cursor })))
      expect(answers.map(answer => answer.status)).toEqual(sets.map(filters => (filters === made ? 200 : 400)))
    }
  })
})
