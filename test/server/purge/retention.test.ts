import { beforeEach, describe, expect, it } from 'vitest'
import { toArrayLiteral } from '../../../server/db/fragments.ts'
import { countPurge, purge, purgeBefore, purgeJob } from '../../../server/purge/service.ts'
import type { AccountPurge, Retention } from '../../../src/contract/index.ts'
import { useService } from '../../support/service.ts'
import { publishNotice } from '../consents/notices.ts'
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

async function retain(retention: Retention | null, own = owner) {
  const headers = await service.signIn(own)
  return await service.call('PATCH', `/api/v1/sites/${own.siteId}`, { headers, body: { retention } })
}

const keep = (days: number | null) => retain(days === null ? null : { period: `P${days}D`, after: 'last_change' })

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
    expect((await keep(10)).body.retention).toEqual({ period: 'P10D', after: 'last_change' })
    expect((await owner.update(changed, { accepted: false })).status).toBe(200)
    const expected = [{ account_id: owner.accountId, expired: 449, purged: 0, proofs: 0 }]
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
    expect(await run(0)).toEqual([{ account_id: owner.accountId, expired: 0, purged: 1, proofs: 0 }])
    expect((await owner.get(id)).status).toBe(200)
    expect((await owner.restore(gone, { despite_erasure: true })).status).toBe(409)
    expect(await brokenChains(service.sql, owner.accountId)).toEqual([])
  })

  it('purges them like other records, in the same run if purging is immediate', async () => {
    await inserted({ records: 5, at: daysAgo(11) })
    await keep(10)
    const expected = [{ account_id: owner.accountId, expired: 5, purged: 5, proofs: 0 }]
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
      proofs: 0,
      reads: 0,
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
    expect(await run(30, sql)).toEqual([{ account_id: owner.accountId, expired: 200, purged: 0, proofs: 0 }])
  })

  it('keeps everything after its retention is removed', async () => {
    const [id = ''] = await inserted({ records: 1, at: daysAgo(11) })
    await keep(10)
    expect((await keep(null)).body.retention).toBe(null)
    expect(await run(30)).toEqual([])
    expect((await owner.get(id)).status).toBe(200)
  })
})

const isLive = async (id: string) => (await owner.get(id)).status === 200

/** Sets the times of a record, as if it had been written then. */
async function rewind(id: string, { at, expires = null }: { readonly at: Date; readonly expires?: Date | null }) {
  await service.sql`update consents set created_at = ${at}, updated_at = ${at}, expires_at = ${expires} where id = ${id}`
}

describe('a retention', () => {
  const given = { accepted: true, preferences: { news: true } }
  const isOld = { at: daysAgo(40) }

  async function answered(...answers: object[]): Promise<string> {
    const { id } = await owner.create({ subject_id: 'person', ...answers[0] })
    for (const answer of answers.slice(1)) await owner.update(id, answer)
    return id
  }

  async function answeredAt(id: string, days: readonly number[]): Promise<void> {
    for (const [index, each] of days.entries())
      await service.sql`
        update consent_history set created_at = ${daysAgo(each)} where consent_id = ${id} and version = ${index + 1}`
  }

  it('when it counts from the withdrawal, deletes the records withdrawn that long ago, and no others', async () => {
    const refused = { accepted: false }
    const none = { preferences: { news: false } }
    const cases: [expired: boolean, days: number[], ...answers: object[]][] = [
      [true, [60, 40], given, refused],
      [true, [60, 40], given, none],
      [true, [60, 40, 5], given, refused, none],
      [true, [60, 50, 45, 40], given, refused, given, none],
      [false, [60, 20], given, refused],
      [false, [60, 40, 20], given, refused, given],
      [false, [60, 40], refused, { preferences: { news: false } }],
      [false, [60, 40], given, { preferences: { news: true, ads: false } }],
      [false, [60], refused],
      [false, [60], given],
    ]
    const ids: string[] = []
    for (const [, days, ...answers] of cases) {
      const id = await answered(...answers)
      await answeredAt(id, days)
      ids.push(id)
    }
    await retain({ period: 'P1M', after: 'withdrawal' })
    const count = [{ account_id: owner.accountId, expired: 4, purged: 0, proofs: 0 }]
    // The times of the entries are not those of their hashes: nothing is purged here.
    expect(await countPurge(service.sql, purgeBefore(30), signal)).toEqual(expect.arrayContaining(count))
    expect(await run(null)).toEqual(count)
    expect(await Promise.all(ids.map(isLive))).toEqual(cases.map(([isExpired]) => !isExpired))
  })

  it('when it counts from the expiry, deletes only what expired before', async () => {
    const [over, young, endless] = [await answered(given), await answered(given), await answered(given)]
    await rewind(over, { at: daysAgo(400), expires: daysAgo(32) })
    await rewind(young, { at: daysAgo(400), expires: daysAgo(27) })
    await rewind(endless, { at: daysAgo(400) })
    await retain({ period: 'P1M', after: 'expiry' })
    expect(await run(null)).toEqual([{ account_id: owner.accountId, expired: 1, purged: 0, proofs: 0 }])
    expect(await Promise.all([over, young, endless].map(isLive))).toEqual([false, true, true])
  })

  it('when it counts from the creation, deletes also what was changed since', async () => {
    const [id] = await inserted({ records: 1, ...isOld })
    await owner.update(id ?? '', { accepted: false })
    await retain({ period: 'P1M', after: 'creation' })
    expect(await run(null)).toEqual([{ account_id: owner.accountId, expired: 1, purged: 0, proofs: 0 }])
  })

  it('when it is shorter than a consent is valid by a notice, is rejected', async () => {
    const validity = async (version: number, validFor?: string) =>
      await publishNotice(service, owner, { version, languages: ['en'], ...(validFor && { validFor }) })
    await validity(1, 'P1Y')
    expect(await retain({ period: 'P364D', after: 'last_change' })).toMatchObject({
      status: 409,
      body: { reason: 'notice_valid_longer', message: expect.stringContaining('version 1 is valid for P1Y') },
    })
    expect((await retain({ period: 'P1D', after: 'expiry' })).status).toBe(200)
    expect((await retain({ period: 'P12M', after: 'creation' })).status).toBe(200)
    await validity(3)
    expect((await retain({ period: 'P100Y', after: 'creation' })).body.message).toContain('version 3 does not expire')
  })

  it.each(['creation', 'last_change'] as const)(
    'when it counts from the %s and a later notice is valid longer, keeps the consents that are valid by it',
    async after => {
      const ids = await inserted({ records: 5, ...isOld })
      const [over, valid, endless, refused, unbound] = ids
      const { sql } = service
      await sql`update consents set notice_entry = 1 where id = any (${toArrayLiteral(ids)}::uuid[]) and id <> ${unbound ?? ''}`
      await sql`update consents set expires_at = ${daysAgo(1)} where id = ${over ?? ''}`
      await sql`update consents set expires_at = ${daysAgo(-1)} where id = ${valid ?? ''}`
      await sql`update consents set accepted = false where id = ${refused ?? ''}`
      await retain({ period: 'P1M', after })
      expect(await run(null)).toEqual([{ account_id: owner.accountId, expired: 3, purged: 0, proofs: 0 }])
      expect(await Promise.all([valid ?? '', endless ?? ''].map(isLive))).toEqual([true, true])
    },
  )

  it.each([
    0,
    'P3Y',
    { period: 'P3Y' },
    { period: '3y', after: 'expiry' },
    { period: 'P0D', after: 'expiry' },
    { period: 'P1Y', after: 'birth' },
  ])('when it is %j, is rejected as invalid', async retention => {
    const { status, body } = await retain(retention as Retention)
    expect({ status, body }).toEqual({
      status: 400,
      body: { error: 'invalid_request', message: expect.stringContaining('retention') },
    })
  })
})
