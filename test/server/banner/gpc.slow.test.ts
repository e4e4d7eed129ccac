import { beforeEach, describe, expect, it } from 'vitest'
import type { DatabaseFinding } from '../../../src/contract/index.ts'
import { useService } from '../../support/service.ts'
import { purgeNow } from '../purge/purge.ts'
import { verified } from '../verify/verified.ts'
import { cors, corsOf, newShop, type Shop } from './shop.ts'

const service = useService()
let shop: Shop

beforeEach(async () => {
  shop = await newShop(service)
})

const gpc = { 'sec-gpc': '1' }

async function visit(body: object, headers: Record<string, string>) {
  const answer = await shop.visit(body, headers)
  expect([answer.status, corsOf(answer)]).toEqual([201, cors.readable])
  return answer.body
}

/** `gpc` of the record, then of each of its entries; undefined where it is left out. */
async function observed(id: string): Promise<(true | undefined)[]> {
  const { body: record } = await shop.get(id)
  const { body: history } = await shop.history(id)
  return [record.gpc, ...history.data.map((entry: { gpc?: true }) => entry.gpc)]
}

/** Returns the findings about records. The sites have origins that no entry set. */
async function problems(): Promise<DatabaseFinding[]> {
  const { findings } = await verified(service.sql, { account: shop.accountId })
  return findings.filter(({ consent_id }) => consent_id !== null)
}

describe('Sec-GPC', () => {
  it('is stored with its answer and never changes the answer', async () => {
    const first = await visit({ accepted: true, preferences: { ads: true } }, gpc)
    expect(first).toMatchObject({ accepted: true, preferences: { ads: true } })
    expect(first).not.toHaveProperty('gpc')
    expect(await observed(first.id)).toEqual([true, true])
    const second = await visit({ consent_token: first.consent_token, accepted: false }, {})
    expect(await observed(first.id)).toEqual([undefined, true, undefined])
    await visit({ consent_token: second.consent_token, accepted: true }, gpc)
    expect(await observed(first.id)).toEqual([true, true, undefined, true])
    expect(await problems()).toEqual([])
  })

  it('writes an entry even if nothing else changes', async () => {
    const first = await visit({ accepted: true }, {})
    const body = { consent_token: first.consent_token, accepted: true }
    await visit(body, gpc)
    await visit(body, gpc)
    expect((await shop.visit(body)).status).toBe(409)
    expect(await observed(first.id)).toEqual([true, undefined, true])
  })

  it('is kept by a deletion and a restore, and removed by an operator’s update', async () => {
    const { id } = await visit({ accepted: true }, gpc)
    await shop.remove(id)
    await shop.restore(id)
    expect(await observed(id)).toEqual([true, true, undefined, undefined])
    await shop.update(id, { accepted: false })
    expect(await observed(id)).toEqual([undefined, true, undefined, undefined, undefined])
    expect(await problems()).toEqual([])
  })

  it('is kept after a purge, and the history still verifies', async () => {
    const { id } = await visit({ subject_id: 'maria', accepted: true }, gpc)
    await shop.remove(id)
    await purgeNow(service.sql)
    const { body } = await shop.history(id)
    expect(body.data.map((entry: { action: string; gpc?: true }) => [entry.action, entry.gpc])).toEqual([
      ['created', true],
      ['deleted', undefined],
      ['purged', undefined],
    ])
    expect(await problems()).toEqual([])
  })

  it.each(['0', 'true', '', '1, 1', '?1', '1.0', ' 1 x'])('is ignored with the value %j', async value => {
    const { id } = await visit({ accepted: true }, { 'sec-gpc': value })
    expect(await observed(id)).toEqual([undefined, undefined])
  })

  it('is ignored on the private API', async () => {
    const { body } = await shop.post({ site_id: shop.siteId, accepted: true }, gpc)
    await shop.update(body.id, { accepted: false }, gpc)
    expect(await observed(body.id)).toEqual([undefined, undefined, undefined])
  })

  it.each([
    ['removed from the record', 'consents', null],
    ['removed from the entry', 'consent_history', null],
    ['denied by the entry', 'consent_history', false],
  ])('is reported by verification when it is %s', async (_name, table, value) => {
    const { id } = await visit({ accepted: true }, gpc)
    expect(await problems()).toEqual([])
    const { sql } = service
    await sql`update ${sql(table)} set gpc = ${value} where ${sql(table === 'consents' ? 'id' : 'consent_id')} = ${id}`
    const found = await problems()
    expect(found.length).toBeGreaterThan(0)
    for (const finding of found) expect(finding).toMatchObject({ consent_id: id, problem: 'changed' })
  })
})
