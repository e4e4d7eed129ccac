import { beforeEach, describe, expect, it } from 'vitest'
import { countPurge, purge, purgeBefore, purgeJob } from '../../../server/purge/service.ts'
import type { AccountPurge } from '../../../src/contract/index.ts'
import { useService } from '../../support/service.ts'
import { newOwner, type Owner } from '../consents/records.ts'
import { insertChains } from './chains.ts'
import { brokenChains } from './purge.ts'

const service = useService()
const { signal } = new AbortController()
const daysAgo = (days: number) => new Date(Date.now() - days * 24 * 60 * 60 * 1000)

let owner: Owner
beforeEach(async () => {
  owner = await newOwner(service)
})

async function keep(retention_days: number | null, own = owner) {
  const headers = await service.signIn(own)
  const path = `/api/v1/sites/${own.siteId}`
  return await service.call('PATCH', path, { headers, body: { retention_days } })
}

async function run(days: number | null, sql = service.sql): Promise<AccountPurge[]> {
  const done: AccountPurge[] = []
  for await (const account of purge(sql, {
    before: days === null ? null : purgeBefore(days),
    signal,
    onUnverified: () => expect.unreachable(),
  }))
    if (account.account_id === owner.accountId) done.push(account)
  return done
}

const inserted = (shape: { records: number; at: Date }) =>
  insertChains(service.sql, owner, { ...shape, entries: 2, isLive: true })

describe('a site that keeps records for 10 days', () => {
  it('deletes only older records', async () => {
    const old = await inserted({ records: 450, at: daysAgo(11) })
    const young = await inserted({ records: 3, at: daysAgo(9) })
    const [changed = ''] = old
    expect((await keep(10)).body.retention_days).toBe(10)
    expect((await owner.update(changed, { accepted: false })).status).toBe(200)
    const expected = [{ account_id: owner.accountId, expired: 449, purged: 0 }]
    expect(await countPurge(service.sql, purgeBefore(30), signal)).toEqual(expected)
    expect(await run(30)).toEqual(expected)
    for (const id of [...young, changed]) expect((await owner.get(id)).status).toBe(200)
    const gone = old.at(-1) ?? ''
    expect((await owner.get(gone)).status).toBe(404)
    const last = (await owner.history(gone)).body.data.at(-1)
    expect(last).toMatchObject({ action: 'deleted', changed_by: 'system', actor_id: null, accepted: true })
    expect(await brokenChains(service.sql, owner.accountId)).toEqual([])
    expect(await run(30)).toEqual([])
  })

  it('keeps a restored record for the same period again, and does not purge it', async () => {
    const [id = '', gone = ''] = await inserted({ records: 2, at: daysAgo(11) })
    await keep(10)
    await run(30)
    expect((await owner.restore(id)).status).toBe(200)
    expect(await run(0)).toEqual([{ account_id: owner.accountId, expired: 0, purged: 1 }])
    expect((await owner.get(id)).status).toBe(200)
    expect((await owner.restore(gone, { despite_erasure: true })).status).toBe(409)
    expect(await brokenChains(service.sql, owner.accountId)).toEqual([])
  })

  it('purges them like other records, in the same run if purging is immediate', async () => {
    await inserted({ records: 5, at: daysAgo(11) })
    await keep(10)
    const expected = [{ account_id: owner.accountId, expired: 5, purged: 5 }]
    const planned = await countPurge(service.sql, purgeBefore(0), signal)
    expect(planned.filter(({ account_id }) => account_id === owner.accountId)).toEqual(expected)
    expect(await run(0)).toEqual(expected)
    expect(await brokenChains(service.sql, owner.accountId)).toEqual([])
  })

  it('deletes them even if nothing is ever purged', async () => {
    await inserted({ records: 5, at: daysAgo(11) })
    await keep(10)
    expect(await purgeJob(service.sql, { purgeAfterDays: null }).run(signal)).toEqual({
      deleted: 5,
      purged: 0,
    })
  })

  it('keeps the remaining ones when its retention is removed during a run', async () => {
    await inserted({ records: 450, at: daysAgo(11) })
    await keep(10)
    const sql = new Proxy(service.sql, {
      apply: (target, self, args) => {
        const query = Reflect.apply(target, self, args)
        if (!String(args[0]).includes('update consents c set')) return query
        return query.then((rows: unknown) => keep(null).then(() => rows))
      },
    })
    expect(await run(30, sql)).toEqual([{ account_id: owner.accountId, expired: 200, purged: 0 }])
  })

  it('keeps everything after its retention is removed', async () => {
    const [id = ''] = await inserted({ records: 1, at: daysAgo(11) })
    await keep(10)
    expect((await keep(null)).body.retention_days).toBe(null)
    expect(await run(30)).toEqual([])
    expect((await owner.get(id)).status).toBe(200)
  })
})

describe('retention_days › 400', () => {
  it.each([0, -1, 1.5, 36_501, '10', true])('rejects %j days', async days => {
    const { status, body } = await keep(days as number)
    expect({ status, body }).toEqual({
      status: 400,
      body: { error: 'invalid_request', message: expect.stringContaining('retention_days') },
    })
  })
})
