import { beforeAll, describe, expect, it } from 'vitest'
import { findExpiring } from '../../../server/consents/queries.ts'
import { wholeAccount } from '../../../server/db/reach.ts'
import { firstIdAt } from '../../../server/ids.ts'
import { seed } from '../../bench/seed.ts'
import { skippedOnCitus, useDatabase } from '../../support/database.ts'
import { newAccount, useService } from '../../support/service.ts'
import { explained, planning, rowsOf } from './plans.ts'
import { newOwner, type Owner } from './records.ts'

const dayMs = 86_400_000
const service = useService()
let owner: Owner
beforeAll(async () => {
  owner = await newOwner(service)
})

const inDays = (days: number) => new Date(Date.now() + days * dayMs)

async function createEnding(days: number | null, fields: object = {}): Promise<string> {
  const { id } = await owner.create({ accepted: true, ...fields })
  if (days !== null) await service.sql`update consents set expires_at = ${inDays(days)} where id = ${id}`
  return id
}

const count = (query: Record<string, string>) =>
  service.call('GET', `/api/v1/stats/count?${new URLSearchParams(query)}`, { key: owner.key })
const subjects = (body: { data: { subject_id: string }[] }) => body.data.map(({ subject_id }) => subject_id)

describe('GET /api/v1/consents?expiry', () => {
  it('lists live accepted records that expire within the period, soonest first, and expired ones', async () => {
    for (const days of [20, 10, -1, -2, 40]) await createEnding(days, { subject_id: `${days}` })
    await createEnding(null)
    await owner.remove(await createEnding(5, { subject_id: 'deleted' }))
    const soon = (await owner.list({ expiry: 'P30D' })).body
    expect(subjects(soon)).toEqual(['10', '20'])
    expect(Math.round((Date.parse(soon.data[0].expires_at) - Date.now()) / dayMs)).toBe(10)
    expect(subjects((await owner.list({ expiry: 'expired' })).body)).toEqual(['-2', '-1'])
    expect(subjects((await owner.list({ expiry: 'P7W', site_id: owner.siteId })).body)).toEqual(['10', '20', '40'])
    expect((await owner.list()).body.data.filter((record: object) => 'expires_at' in record)).toEqual([])
  })

  it('pages through records with the same expiry without skipping or repeating any', async () => {
    const own = await newOwner(service)
    for (let index = 0; index < 7; index += 1) await own.create({ accepted: true })
    await service.sql`update consents set expires_at = ${inDays(3)} where account_id = ${own.accountId}`
    const seen: string[] = []
    let cursor: string | undefined
    do {
      const { body } = await own.list({ expiry: 'P1M', limit: '3', ...(cursor && { cursor }) })
      seen.push(...body.data.map(({ id }: { id: string }) => id))
      cursor = body.next_cursor ?? undefined
    } while (cursor)
    expect(seen).toEqual([...seen].sort())
    expect(new Set(seen).size).toBe(7)
    const { body } = await own.list({ expiry: 'P1M', limit: '3' })
    expect((await own.list({ expiry: 'P2M', cursor: body.next_cursor })).status, 'of another time').toBe(400)
    expect((await own.list({ cursor: body.next_cursor })).status, 'of another list').toBe(400)
  })

  it('returns the same count as the list', async () => {
    for (const query of [{ expiry: 'P30D' }, { expiry: 'expired' }, { expiry: 'P7W', site_id: owner.siteId }]) {
      const listed = (await owner.list(query)).body.data.length
      const { body } = await count(query)
      expect([listed > 0, body]).toEqual([true, { count: listed }])
    }
    expect((await count({ expiry: 'expired', accepted: 'true' })).status).toBe(400)
    expect((await count({ expiry: 'P101Y' })).status).toBe(400)
  })

  it('returns 400 with any filter other than the site', async () => {
    for (const other of [{ subject_id: 'x' }, { accepted: 'true' }, { from: inDays(-1).toISOString() }]) {
      const { status, body } = await owner.list({ expiry: 'expired', ...other })
      expect([status, body.message]).toEqual([
        400,
        `expiry: can be combined only with site_id, not with ${Object.keys(other)[0]}`,
      ])
    }
  })
})

const hasPlansElsewhere = skippedOnCitus('plans, which are those of other nodes')
const database = useDatabase()

describe.skipIf(hasPlansElsewhere).each(['force_custom_plan', 'force_generic_plan'])('with %s', mode => {
  it('reads hardly any row beyond the returned ones, on any page', async () => {
    const { sql } = database
    const { accountId, siteId } = await newAccount(sql)
    const { site } = await seed(sql, { accountId, siteId, records: 5000 })
    await sql`
      update consents set expires_at = created_at + interval '60 days' where account_id = ${accountId} and accepted`
    await sql`analyze consents`
    const [middle] = await sql<{ at: Date }[]>`
      select percentile_disc(0.5) within group (order by expires_at) as at from consents where account_id = ${accountId}`
    const at = middle?.at ?? new Date()
    for (const own of [{}, { siteId: site }])
      for (const after of [undefined, { at, id: firstIdAt(0) }]) {
        const filters = { ...own, from: null, to: inDays(100), after }
        const plan = await planning(sql, mode, tx =>
          explained(tx, sql => findExpiring(sql, wholeAccount(accountId), filters, 50)),
        )
        expect(rowsOf(plan), JSON.stringify(filters)).toBeLessThan(250)
      }
  })
})
