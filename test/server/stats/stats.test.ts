import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { coverAccount } from '../../../server/evidence/log.ts'
import { openSigner } from '../../../server/evidence/signer.ts'
import { countAll } from '../../../server/stats/counting.ts'
import { hideSmallGroups } from '../../../server/stats/small-groups.ts'
import { skippedOnCitus } from '../../support/database.ts'
import { useService } from '../../support/service.ts'
import { publishNotice } from '../consents/notices.ts'
import { newOwner, type Owner } from '../consents/records.ts'
import { insertChains } from '../purge/chains.ts'
import { purgeNow } from '../purge/purge.ts'

const hasNoTriggers = skippedOnCitus('an account that a trigger keeps from being counted')
const service = useService()
const pace = { signal: new AbortController().signal }

const ask = (owner: Owner, query = '') => service.call('GET', `/api/v1/stats${query}`, { key: owner.key })

/** Creates records with one request. */
async function createMany(owner: Owner, records: readonly object[]): Promise<void> {
  const rows = records.map(record => ({ site_id: owner.siteId, ...record }))
  const { status, body } = await service.call('POST', '/api/v1/consents/batch', {
    key: owner.key,
    headers: { prefer: 'return=minimal' },
    body: { records: rows },
  })
  expect([status, body.results.every((row: { status: number }) => row.status === 201)]).toEqual([200, true])
}

const persons = (count: number, fields: object = {}) =>
  Array.from({ length: count }, (_, index) => ({ subject_id: `person ${index}`, ...fields }))

async function countInBackground(owner: Owner): Promise<void> {
  const signer = await openSigner(service.sql, null)
  for await (const _ of coverAccount({ sql: service.sql, signer }, owner.accountId));
  await countAll(service.sql, pace)
}

it('stats › 200 › counts new records immediately, and returns the same once the job has counted them', async () => {
  const owner = await newOwner(service)
  const { id } = await owner.create({
    subject_id: 'person 0',
    accepted: true,
    preferences: { ads: true, '+49 30 1': true },
  })
  await createMany(owner, [...persons(11, { preferences: { ads: false } }), {}])
  await owner.update(id, { accepted: false, preferences: { ads: false } })
  await owner.remove(id)
  const total = {
    records: 13,
    persons: 11,
    anonymous: 1,
    accepted: 0,
    refused: 13,
    withdrawn: 1,
    deleted: 1,
    hidden: null,
  }
  const ads = { group: 'ads', records: 12, deleted: 1, accepted: 0, refused: 12, withdrawn: 1 }
  for (const work of [async () => {}, () => countInBackground(owner), () => purgeNow(service.sql)]) {
    await work()
    const { body } = await ask(owner, '?by=preference')
    expect(body).toMatchObject({ as_of: null, complete: true, total, groups: [ads] })
  }
})

it('stats › 200 › counts no acceptance for a record whose purposes were all withdrawn', async () => {
  const owner = await newOwner(service)
  const record = await owner.create({ accepted: true, preferences: { marketing: true, analytics: true } })
  const total = async () => (await ask(owner, '?exact=true')).body.total
  await owner.update(record.id, { preferences: { marketing: true, analytics: false } })
  expect(await total()).toMatchObject({ accepted: 1, refused: 0, withdrawn: 0 })
  await owner.update(record.id, { preferences: { marketing: false, analytics: false } })
  expect(await total()).toMatchObject({ accepted: 0, refused: 1, withdrawn: 1 })
  await countInBackground(owner)
  expect(await total()).toMatchObject({ accepted: 0, refused: 1, withdrawn: 1 })
})

it('stats › 200 › counts each purpose as given, refused or withdrawn, also when it is no longer named', async () => {
  const owner = await newOwner(service)
  await publishNotice(service, owner, { version: 1, languages: ['en'], purposes: ['marketing'] })
  const both = { accepted: true, preferences: { necessary: true, marketing: true } }
  const [kept, withdrawn, all] = [await owner.create(both), await owner.create(both), await owner.create(both)]
  await owner.create({ accepted: true, preferences: { necessary: true, marketing: false } })
  await owner.create({ accepted: false, preferences: { marketing: true } })
  await owner.update(kept.id, { preferences: { ...both.preferences, note: 'x' } })
  await owner.update(withdrawn.id, { preferences: { necessary: true } })
  await owner.update(all.id, { accepted: false })
  const groups = [
    { group: 'marketing', records: 5, accepted: 1, refused: 4, withdrawn: 2, persons: null, anonymous: null },
    { group: 'necessary', records: 4, accepted: 3, refused: 1, withdrawn: 1 },
  ]
  for (const work of [async () => {}, () => countInBackground(owner)]) {
    await work()
    const { body } = await ask(owner, '?by=preference&exact=true')
    expect(body).toMatchObject({ groups, total: { records: 5, accepted: 1, refused: 4, withdrawn: 2 } })
  }
})

it('stats › 200 › a person whose records were all purged counts again with a new record', async () => {
  const owner = await newOwner(service)
  const { id } = await owner.create({ subject_id: 'a person' })
  await owner.remove(id)
  await purgeNow(service.sql)
  await owner.create({ subject_id: 'a person' })
  expect((await ask(owner, '?exact=true')).body.total).toMatchObject({ records: 2, persons: 2 })
})

it.skipIf(hasNoTriggers)('stats › 200 › when one account cannot be counted, counts every other', async () => {
  const { sql } = service
  const owners = [await newOwner(service), await newOwner(service)].sort((a, b) => (a.accountId < b.accountId ? -1 : 1))
  const [bad, good] = owners as [Owner, Owner]
  await sql.unsafe(`create function fail() returns trigger language plpgsql
    as $$ begin raise exception using errcode = '57014'; end $$;
    create trigger fail before insert on statistics_progress for each row
    when (new.account_id = '${bad.accountId}') execute function fail()`)
  for (const own of owners) await own.create()
  await expect(countInBackground(bad)).rejects.toThrow(
    `1 accounts could not be counted, the first is the account ${bad.accountId}: 57014`,
  )
  await expect(countInBackground(good)).rejects.toThrow(bad.accountId)
  await sql.unsafe('drop function fail cascade')
  expect(await sql`select leaves::integer from statistics_progress where account_id = ${good.accountId}`).toEqual([
    { leaves: 2 },
  ])
})

it('stats › 200 › does not count a subject with more than a thousand records as a person', async () => {
  const owner = await newOwner(service)
  const chains = await insertChains(service.sql, owner, { records: 1001, entries: 1, isLive: true })
  await service.sql`update consents set subject_id = 'guest' where account_id = ${owner.accountId}`
  await countInBackground(owner)
  const before = { records: chains.length, persons: 0, anonymous: chains.length }
  expect((await ask(owner)).body.total).toMatchObject(before)
  await createMany(owner, [{ subject_id: 'guest' }, { subject_id: 'a person' }])
  const total = { records: chains.length + 2, persons: 1, anonymous: chains.length + 1 }
  expect((await ask(owner)).body.total).toMatchObject(total)
})

it('stats › 200 › is as of the last checkpoint while over 10,000 events are uncounted, and states their number', async () => {
  const owner = await newOwner(service)
  await createMany(owner, persons(20))
  await countInBackground(owner)
  for (let made = 0; made < 10_001; made += 3334)
    await insertChains(service.sql, owner, { records: Math.min(3334, 10_001 - made), entries: 1, isLive: true })
  const { body } = await ask(owner)
  expect(body).toMatchObject({ complete: false, uncounted: 10_001, total: { records: 20 } })
  expect(Date.now() - Date.parse(body.as_of)).toBeLessThan(60_000)
  await countInBackground(owner)
  const counted = { complete: true, as_of: null, uncounted: 0, total: { records: 10_021, persons: 20 } }
  expect((await ask(owner)).body).toMatchObject(counted)
})

it.each(['before', 'after'])(
  'stats › 200 › lists the largest of too many preferences, and the sum of all others, %s they are counted',
  async moment => {
    const owner = await newOwner(service)
    await createMany(owner, persons(30, { accepted: true, preferences: { marketing: true } }))
    const fresh = () => Object.fromEntries(Array.from({ length: 32 }, () => [`k${crypto.randomUUID()}`, true]))
    const flood = { records: 400, entries: 1, isLive: true, preferences: fresh }
    await insertChains(service.sql, owner, flood)
    if (moment === 'after') {
      await countInBackground(owner)
      const [row] = await service.sql`
        select max(count)::integer as most from (
          select count(*) from statistics where account_id = ${owner.accountId} group by kind, site_id, day) as days`
      expect(row?.['most']).toBeLessThanOrEqual(501)
    }
    const { text, body } = await ask(owner, '?by=preference&exact=true')
    expect(text.length).toBeLessThan(300_000)
    expect(body).toMatchObject({ complete: true, truncated: true })
    const find = (name: string | null) => body.groups.find(({ group }: { group: string | null }) => group === name)
    expect(find('marketing')).toMatchObject({ records: 30, accepted: 30 })
    expect(body.groups.at(-1)).toEqual(find(null))
    const sum = body.groups.reduce((all: number, { records }: { records: number }) => all + records, 0)
    expect(sum).toBe(30 + 400 * 32)
  },
)

it('stats › 200 › when a statement takes too long, counts in smaller parts', async () => {
  const owner = await newOwner(service)
  await createMany(owner, persons(40))
  const parts: number[] = []
  const slow = new Proxy(service.sql, {
    apply: (sql, self, [strings, ...values]: [TemplateStringsArray, ...unknown[]]) => {
      const isCount = strings[0]?.trim() === 'with' && strings.join('').includes('l.leaf_index >=')
      const [from, to] = values.filter(value => typeof value === 'number')
      if (!isCount) return Reflect.apply(sql, self, [strings, ...values])
      parts.push(Number(to) - Number(from))
      if (Number(to) - Number(from) > 15) throw Object.assign(new Error('too slow'), { code: '57014' })
      return Reflect.apply(sql, self, [strings, ...values])
    },
  })
  const signer = await openSigner(service.sql, null)
  for await (const _ of coverAccount({ sql: service.sql, signer }, owner.accountId));
  await countAll(slow, pace)
  expect(Math.max(...parts)).toBeGreaterThan(15)
  expect((await ask(owner)).body).toMatchObject({ complete: true, total: { records: 40 } })
  expect(await service.sql`select 1 from statistics where account_id = ${owner.accountId}`).not.toHaveLength(0)
})

it('stats › 200 › a modest job counts one account at a time', async () => {
  const signer = await openSigner(service.sql, null)
  for (let index = 0; index < 4; index += 1) {
    const owner = await newOwner(service)
    await createMany(owner, persons(5))
    for await (const _ of coverAccount({ sql: service.sql, signer }, owner.accountId));
  }
  let [counts, running, most] = [0, 0, 0]
  const watched = new Proxy(service.sql, {
    apply: (sql, self, [strings, ...values]: [TemplateStringsArray, ...unknown[]]) => {
      const query = Reflect.apply(sql, self, [strings, ...values])
      if (strings[0]?.trim() !== 'with' || !strings.join('').includes('l.leaf_index >=')) return query
      counts += 1
      running += 1
      most = Math.max(most, running)
      return query.finally(() => {
        running -= 1
      })
    },
  })
  await countAll(watched, { ...pace, isModest: true })
  expect(counts).toBeGreaterThanOrEqual(4)
  expect(most).toBe(1)
})

it('stats › 200 › hides groups of fewer than ten persons, and others that would reveal them', async () => {
  const owner = await newOwner(service)
  await createMany(owner, [
    ...persons(30, { policy_version: 1 }),
    ...persons(12, { policy_version: 2 }),
    ...persons(3, { policy_version: 3 }),
  ])
  const groupsOf = async (query: string) => {
    const { body } = await ask(owner, query)
    return body.groups.map((row: Record<string, unknown>) => [
      row['group'],
      row['records'],
      row['persons'],
      row['hidden'],
    ])
  }
  expect(await groupsOf('?by=policy')).toEqual([
    ['1', 30, 30, null],
    ['2', null, null, 'remainder'],
    ['3', null, null, 'small'],
  ])
  expect(await groupsOf('?by=policy&exact=true')).toEqual([
    ['1', 30, 30, null],
    ['2', 12, 12, null],
    ['3', 3, 3, null],
  ])
  const few = await newOwner(service)
  await createMany(few, persons(9))
  expect((await ask(few)).body.total).toMatchObject({ records: null, persons: null, hidden: 'small' })
})

it('small groups › hidden groups are at least two and have at least ten persons in total, unless all groups are hidden', () => {
  const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 12 })
  fc.assert(
    fc.property(sizes, groups => {
      const total = groups.reduce((sum, size) => sum + size, 0)
      const hidden = hideSmallGroups(groups, total)
      for (const [index, size] of groups.entries()) if (size < 10) expect(hidden[index]).toBe('small')
      const isHidden = groups.filter((_, index) => hidden[index] !== null)
      const sum = isHidden.reduce((all, size) => all + size, 0)
      if (isHidden.length > 0 && isHidden.length < groups.length) {
        expect(sum).toBeGreaterThanOrEqual(10)
        expect(isHidden.length).toBeGreaterThanOrEqual(2)
      }
      if (groups.every(size => size >= 10)) expect(isHidden).toEqual([])
    }),
  )
})

describe('stats › 400', () => {
  it.each(['from=2026-02-30', 'from=2026-01-31T00:00:00Z', 'from=7d', 'from=2026-02-01&to=2026-01-31'])(
    'rejects %s',
    async query => {
      const owner = await newOwner(service)
      expect((await ask(owner, `?${query}`)).body).toMatchObject({ error: 'invalid_request' })
    },
  )
})

it('count › 200 › returns the length of the list, with each filter', async () => {
  const owner = await newOwner(service)
  const made = [
    await owner.create({ subject_id: 'a', accepted: true }),
    await owner.create({ consent_id: 'b' }),
    await owner.create(),
  ]
  await owner.remove(made[2]?.id ?? '')
  const count = async (query: string) =>
    (await service.call('GET', `/api/v1/stats/count${query}`, { key: owner.key })).body.count
  const queries = ['', '?include_deleted=true', '?accepted=true', '?accepted=false', '?subject_id=a', '?consent_id=b']
  const ranges = [
    `?from=${made[1]?.created_at}`,
    `?to=${made[1]?.created_at}&include_deleted=true`,
    `?site_id=${owner.siteId}`,
  ]
  for (const query of [...queries, ...ranges])
    expect([query, await count(query)]).toEqual([query, (await owner.list(query.slice(1))).body.data.length])
  const { status } = await service.call('GET', '/api/v1/stats/count?limit=1', { key: owner.key })
  expect(status).toBe(400)
})
