import { beforeAll, describe, expect, it } from 'vitest'
import { newPublishedNotices } from '../../../server/notices/published.ts'
import { newWithdrawal, withdrawPurposes } from '../../../server/subjects/withdraw.ts'
import type { WithdrawnRecord } from '../../../src/contract/index.ts'
import { useService } from '../../support/service.ts'
import { expectRefused, instant, inTurns, newOwner, type Owner, unknownId } from '../consents/records.ts'
import { insertChains } from '../purge/chains.ts'
import { brokenChains } from '../purge/purge.ts'
import { losing, newSite, publishNotice } from './fixtures.ts'

const service = useService()
const path = '/api/v1/subjects/withdraw'
const purposes = ['marketing']
let owner: Owner
beforeAll(async () => {
  owner = await newOwner(service)
})

const withdraw = (body: object, own: { key: string } = owner) =>
  service.call('POST', path, { key: own.key, body: { purposes, ...body } })

const idsOf = (records: readonly { readonly id: string }[]) => records.map(({ id }) => id)
const grants = { accepted: true, preferences: { marketing: true } }

describe('POST /api/v1/subjects/withdraw › 200', () => {
  it('turns the purpose off in each live record that grants it, and changes no other record and no other answer', async () => {
    const own = await newOwner(service)
    const subject_id = 'maria@example.com'
    const other = await newSite(service, own)
    const mixed = await own.create({ subject_id, accepted: true, preferences: { marketing: true, ads: true, tier: 2 } })
    const only = await own.create({
      subject_id,
      site_id: other,
      accepted: true,
      preferences: { marketing: true, ads: false },
    })
    const untouched = await Promise.all([
      own.create({ subject_id, accepted: true, preferences: { marketing: false, ads: true } }),
      own.create({ subject_id, accepted: true, preferences: { marketing: 'yes' } }),
      own.create({ subject_id, accepted: true, preferences: {} }),
      own.create({ subject_id, accepted: false, preferences: { marketing: true } }),
      own.create({ subject_id: 'Maria@example.com', ...grants }),
    ])
    const deleted = await own.create({ subject_id, ...grants })
    await own.remove(deleted.id)
    const foreign = await owner.create({ subject_id, ...grants })

    const answer = await withdraw({ subject_id }, own)
    expect(answer.status, answer.text).toBe(200)
    const changed = { purposes, before: 1, version: 2, changed_at: expect.stringMatching(instant) }
    expect(answer.body).toEqual({
      withdrawn: 2,
      remaining: 0,
      live: 6,
      not_answered: 2,
      complete: true,
      dry_run: false,
      records: [
        { id: mixed.id, site_id: own.siteId, accepted: true, ...changed },
        { id: only.id, site_id: other, accepted: false, ...changed },
      ],
    })
    expect((await own.get(mixed.id)).body).toMatchObject({
      accepted: true,
      preferences: { marketing: false, ads: true, tier: 2 },
    })
    expect((await own.get(only.id)).body).toMatchObject({
      accepted: false,
      preferences: { marketing: false, ads: false },
    })
    for (const { id, changed_at } of answer.body.records) {
      const entries = (await own.history(id)).body.data
      expect(entries).toHaveLength(2)
      expect(entries[1]).toMatchObject({
        ...{ action: 'updated', changed_by: 'api_key', actor_id: own.keyId, version: 2, created_at: changed_at },
      })
    }
    for (const record of untouched) expect((await own.get(record.id)).body).toEqual(record)
    expect((await own.get(deleted.id, 'include_deleted=true')).body.preferences).toEqual({ marketing: true })
    expect((await owner.get(foreign.id)).body).toEqual(foreign)
    expect(await brokenChains(service.sql, own.accountId)).toEqual([])

    const again = await withdraw({ subject_id }, own)
    expect(again.body).toMatchObject({ withdrawn: 0, remaining: 0, complete: true, records: [] })
    expect((await own.history(mixed.id)).body.data).toHaveLength(2)
  })

  it('when the last granted purpose is withdrawn, the receipt of the record has the state withdrawn', async () => {
    const own = await newOwner(service)
    const { id } = await own.create({
      subject_id: 'state',
      accepted: true,
      preferences: { marketing: true, ads: false },
    })
    await withdraw({ subject_id: 'state' }, own)
    const answer = await own.receipt(id)
    expect(answer.status, answer.text).toBe(200)
    expect(answer.body.events.at(-1)).toMatchObject({ event_state: 'dpv:ConsentWithdrawn' })
  })

  it('restarts the validity of what a record still grants, and ends it if nothing is granted', async () => {
    const own = await newOwner(service)
    await publishNotice(service, own, { version: 3, validFor: 'P1Y' })
    const fields = { subject_id: 'valid', policy_version: 3, accepted: true }
    const kept = await own.create({ ...fields, preferences: { marketing: true, ads: true } })
    const ended = await own.create({ ...fields, preferences: { marketing: true } })
    const { records } = (await withdraw({ subject_id: 'valid' }, own)).body
    const rows = await service.sql<{ id: string; expires_at: Date | null }[]>`
      select id, expires_at from consents where account_id = ${own.accountId} order by id`
    const end = new Date(records[0].changed_at)
    end.setUTCFullYear(end.getUTCFullYear() + 1)
    expect(rows).toEqual([
      { id: kept.id, expires_at: end },
      { id: ended.id, expires_at: null },
    ])
  })

  it('names the purposes that each record granted, and changes only records of the site and of the ids', async () => {
    const own = await newOwner(service)
    const site_id = await newSite(service, own)
    const subject_id = 'scope'
    const both = await own.create({ subject_id, site_id, accepted: true, preferences: { ads: true, marketing: true } })
    const one = await own.create({ subject_id, site_id, accepted: true, preferences: { ads: true, x: true } })
    const elsewhere = await own.create({ subject_id, ...grants })
    const unnamed = await own.create({ subject_id, site_id, ...grants })
    const ids = [one.id.toUpperCase(), both.id, elsewhere.id]
    const { body } = await withdraw({ subject_id, site_id, ids, purposes: ['marketing', 'ads'] }, own)
    expect(body).toMatchObject({ withdrawn: 2, remaining: 1, live: 3, complete: true })
    expect(body.records.map((each: WithdrawnRecord) => [each.id, each.purposes, each.accepted])).toEqual([
      [both.id, ['marketing', 'ads'], false],
      [one.id, ['ads'], true],
    ])
    for (const record of [elsewhere, unnamed]) expect((await own.get(record.id)).body).toEqual(record)
    expect((await withdraw({ subject_id, ids: [] }, own)).body).toMatchObject({
      withdrawn: 0,
      remaining: 2,
      complete: true,
    })
  })

  it('takes a purpose whose name is that of a property of every object', async () => {
    const own = await newOwner(service)
    const preferences = { constructor: true, valueOf: true }
    const { id } = await own.create({ subject_id: 'odd', accepted: true, preferences })
    const { body } = await withdraw({ subject_id: 'odd', purposes: ['constructor', 'toString'] }, own)
    expect(body.records).toMatchObject([{ id, purposes: ['constructor'], accepted: true }])
    expect((await own.get(id)).body.preferences).toEqual({ constructor: false, valueOf: true })
    expect(await brokenChains(service.sql, own.accountId)).toEqual([])
  })

  it('changes and lists at most 1000 records per call, and only lists in a dry run', async () => {
    const account = await service.newAccount()
    const shape = {
      records: 1203,
      entries: 1,
      isLive: true,
      subject: 'pages',
      preferences: () => ({ marketing: true }),
    }
    const all = (await insertChains(service.sql, account, shape)).toSorted()
    const subject_id = 'pages'
    const first = await withdraw({ subject_id, dry_run: true }, account)
    expect(first.body).toMatchObject({ withdrawn: 1203, remaining: 1203, complete: false, dry_run: true })
    expect(first.body.records[0]).toEqual({
      ...{ id: all[0], site_id: account.siteId, purposes, accepted: false, before: 1, version: null, changed_at: null },
    })
    const second = await withdraw({ subject_id, dry_run: true, after: all[999] }, account)
    expect([...idsOf(first.body.records), ...idsOf(second.body.records)]).toEqual(all)
    const changed: string[] = []
    for (let isComplete = false; !isComplete; ) {
      const { body } = await withdraw({ subject_id }, account)
      expect(body.records.length).toBeLessThanOrEqual(1000)
      changed.push(...idsOf(body.records))
      isComplete = body.complete
    }
    expect(changed.toSorted()).toEqual(all)
    expect(await brokenChains(service.sql, account.accountId)).toEqual([])
  })

  it('when its deadline has passed, stops, and the next call continues', async () => {
    const account = await service.newAccount()
    const preferences = () => ({ marketing: true })
    await insertChains(service.sql, account, { records: 450, entries: 1, isLive: true, subject: 'many', preferences })
    const caller = { kind: 'api_key', id: account.keyId, accountId: account.accountId, siteIds: null } as const
    const deps = { sql: service.sql, notices: newPublishedNotices() }
    const request = { subject_id: 'many', purposes }
    const first = await withdrawPurposes(deps, caller, request, newWithdrawal(performance.now() + 5))
    expect([0, 200, 400]).toContain(first.withdrawn)
    expect(first).toMatchObject({ remaining: 450 - first.withdrawn, complete: false })
    const second = await withdraw({ subject_id: 'many' }, account)
    expect(second.body).toMatchObject({ withdrawn: first.remaining, remaining: 0, complete: true })
  })

  it.each(['after', 'before'])(
    'lists every changed record once if a connection is lost %s a batch was written',
    async moment => {
      const account = await service.newAccount()
      const preferences = () => ({ marketing: true })
      await insertChains(service.sql, account, { records: 450, entries: 2, isLive: true, subject: 'lost', preferences })
      const node = await service.addNode({ sql: losing(service.sql, moment) })
      const { body } = await node.call('POST', path, { key: account.key, body: { subject_id: 'lost', purposes } })
      expect(body).toMatchObject({ withdrawn: 450, remaining: 0, complete: true })
      expect(new Set(idsOf(body.records)).size).toBe(450)
      for (const { before, version } of body.records) expect([before, version]).toEqual([2, 3])
    },
  )

  it('changes all other records if one cannot be changed, and counts that one as remaining', async () => {
    const account = await service.newAccount()
    const preferences = () => ({ marketing: true })
    const shape = { records: 31, entries: 1, isLive: true, subject: 'stuck', preferences }
    const ids = await insertChains(service.sql, account, shape)
    await service.sql`
      insert into log_entries (account_id, consent_id, version, hash)
      values (${account.accountId}, ${ids[7] ?? ''}, 2, ${Buffer.alloc(32)})`
    const answer = await withdraw({ subject_id: 'stuck' }, account)
    expect(answer.status).toBe(200)
    expect(answer.body).toMatchObject({ withdrawn: 30, remaining: 1, complete: false })
  })

  it('when records are created, changed and granted again concurrently, leaves none granted that was there, and no chain broken', async () => {
    const own = await newOwner(service)
    const subject_id = 'racing'
    const preferences = () => ({ marketing: true, ads: true })
    const ids = await insertChains(service.sql, own, {
      records: 300,
      entries: 1,
      isLive: true,
      subject: subject_id,
      preferences,
    })
    const more = Array.from({ length: 30 }, (_, index) => index)
    const [one, two, updates, creates] = await Promise.all([
      withdraw({ subject_id, ids }, own),
      withdraw({ subject_id, ids }, own),
      inTurns(ids.slice(100, 200), 4, id => own.update(id, { preferences: { marketing: false, changed: true } })),
      inTurns(more, 2, () => own.create({ subject_id, ...grants })),
    ])
    for (const { status } of updates) expect(status).toBe(200)
    for (const { body } of [one, two]) expect(body.complete).toBe(true)
    const dry = await withdraw({ subject_id, dry_run: true }, own)
    expect(idsOf(dry.body.records).toSorted()).toEqual(idsOf(creates).toSorted())
    const changed = [...idsOf(one.body.records), ...idsOf(two.body.records)]
    expect(new Set(changed).size).toBe(changed.length)
    for (const id of ids.slice(0, 100)) expect(changed).toContain(id)
    for (const { id, before, version } of [...one.body.records, ...two.body.records])
      expect([id, version]).toEqual([id, before + 1])
    expect(await brokenChains(service.sql, own.accountId)).toEqual([])
  })
})

describe('POST /api/v1/subjects/withdraw › quota', () => {
  it('never rejects a withdrawal, and is not exceeded', async () => {
    const account = await service.newAccount({ monthlyQuota: 1 })
    for (let count = 0; count < 3; count += 1) {
      const { status, headers } = await withdraw({ subject_id: 'x' }, account)
      expect([status, headers['x-quota-remaining']]).toEqual([200, '0'])
    }
    expect((await service.call('GET', '/api/v1/consents', { key: account.key })).status).toBe(429)
  })
})

describe('POST /api/v1/subjects/withdraw › 404', () => {
  it('answers identically for a foreign and an unknown site', async () => {
    const { siteId } = await service.newAccount()
    for (const site_id of [siteId, unknownId]) {
      const { status, body } = await withdraw({ subject_id: 'x', site_id })
      expect([status, body]).toEqual([404, { error: 'not_found', message: 'There is no such site.' }])
    }
  })
})

describe('POST /api/v1/subjects/withdraw › 400', () => {
  it.each([
    ['a subject_id of 256 characters', { subject_id: 'x'.repeat(256) }, 'subject_id'],
    ['no purpose', { purposes: [] }, 'purposes'],
    ['a purpose twice', { purposes: ['a', 'a'] }, 'purposes'],
    ['21 purposes', { purposes: Array.from({ length: 21 }, (_, index) => `p${index}`) }, 'purposes'],
    ['1001 ids', { ids: Array.from({ length: 1001 }, () => '0'.repeat(36)) }, 'ids'],
    ['a site_id that is no UUID', { site_id: 'shop' }, 'site_id'],
  ])('when the body has %s, names the field', async (_, body, named) => {
    expectRefused(await withdraw({ subject_id: 'x', ...body }), named)
  })
})
