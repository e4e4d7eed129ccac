import { setTimeout as delay } from 'node:timers/promises'
import { beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { countPurge, purge, purgeBefore, purgeJob, purgeNamed } from '../../../server/purge/service.ts'
import { system } from '../../../src/evidence/chain.ts'
import { newLedger, type Target, write } from '../../e2e/ledger.ts'
import { findContradictions } from '../../e2e/ledger-check.ts'
import { useService } from '../../support/service.ts'
import { newOwner, type Owner } from '../consents/records.ts'
import { insertChains } from './chains.ts'
import { brokenChains, purgeNow } from './purge.ts'

const service = useService()
let owner: Owner
beforeAll(async () => {
  owner = await newOwner(service)
})

const never = new AbortController().signal

it('the first purge of a process recalculates statistics that a killed process has left unfinished', async () => {
  const { sql } = service
  const samples = async () =>
    (await sql`select from pg_stats where tablename = 'consents' and most_common_vals::text like '%sampled%'`).length
  const options = { before: purgeBefore(0), signal: never, onUnverified: () => {} }
  for (let count = 0; count < 3; count += 1) await owner.remove((await owner.create({ subject_id: 'sampled' })).id)
  await sql`analyze consents`
  expect(await samples()).toBe(1)
  await purge(sql, options).next() // the account is purged, and the process killed
  expect(await samples()).toBe(1)
  expect(await purge(new Proxy(sql, {}), options).next()).toEqual({ done: true, value: undefined })
  expect(await samples()).toBe(0)
})

it('after a purge of named records, the next run of the job recalculates the statistics even if nothing is due', async () => {
  const { sql } = service
  const job = purgeJob(sql, { purgeAfterDays: null })
  await job.run(never)
  const ids: string[] = []
  for (let count = 0; count < 3; count += 1) ids.push((await owner.create({ subject_id: 'named' })).id)
  for (const id of ids) await owner.remove(id)
  await sql`analyze consents`
  const samples = () => sql`select from pg_stats where tablename = 'consents' and most_common_vals::text like '%named%'`
  expect(await samples()).toHaveLength(1)
  await purgeNamed(sql, owner.accountId, ids, { signal: never, actor: system, onProblem: () => expect.unreachable() })
  await job.run(never)
  expect(await samples()).toHaveLength(0)
})

describe('a purged record', () => {
  it('is returned without personal data, and its history has an entry for the purge', async () => {
    const fields = {
      subject_id: 'maria',
      consent_id: 'label',
      user_agent: 'a browser',
      ip_address: '192.0.2.1',
      accepted: true,
      preferences: { a: 1 },
      policy_version: 7,
    }
    const { id, created_at } = await owner.create(fields)
    await owner.update(id, { preferences: { b: 2 } })
    const { deleted_at } = (await owner.remove(id)).body
    await delay(2)
    expect(await purgeNow(service.sql)).toEqual(new Map([[owner.accountId, 1]]))
    const { status, body } = await owner.get(id, 'include_deleted=true')
    expect(status).toBe(200)
    expect(body).toEqual({
      id,
      site_id: owner.siteId,
      consent_id: null,
      subject_id: null,
      country: null,
      region: null,
      user_agent: null,
      accepted: true,
      preferences: {},
      policy_version: 7,
      created_at,
      updated_at: expect.any(String),
      deleted_at,
    })
    expect(body.updated_at > deleted_at).toBe(true)
    expect((await owner.get(id)).status).toBe(404)
    expect((await owner.update(id, { accepted: false })).status).toBe(404)
    expect((await owner.remove(id)).status).toBe(404)
    expect((await owner.list('include_deleted=true&subject_id=maria')).body.data).toEqual([])
    const { data } = (await owner.history(id)).body
    expect(data.map(({ action }: { action: string }) => action)).toEqual(['created', 'updated', 'deleted', 'purged'])
    for (const entry of data) expect(entry).toMatchObject({ accepted: true, preferences: {}, policy_version: 7 })
    expect(data.at(-1)).toMatchObject({
      changed_by: 'system',
      actor_id: null,
      created_at: body.updated_at,
      consent_id: id,
    })
    expect(await brokenChains(service.sql, owner.accountId)).toEqual([])
    expect(await purgeNow(service.sql)).toEqual(new Map())
  })

  it('is not created again by its idempotency key, until the key expires', async () => {
    const body = { site_id: owner.siteId, subject_id: 'maria' }
    const key = { 'idempotency-key': 'of maria' }
    const { id } = (await owner.post(body, key)).body
    await owner.remove(id)
    expect((await owner.post(body, key)).body.id).toBe(id) // deleted is not gone
    await purgeNow(service.sql)
    for (const retry of [body, { site_id: owner.siteId }]) {
      const { status, body: answer } = await owner.post(retry, key)
      expect(status).toBe(409)
      expect(answer).toEqual({
        error: 'conflict',
        message: 'The record of this Idempotency-Key was erased.',
        reason: 'purged',
      })
    }
    await service.sql`update idempotency_keys set created_at = ${new Date(Date.now() - 24 * 60 * 60 * 1000 - 1000)}`
    const later = await owner.post(body, key)
    expect(later.status).toBe(201)
    expect(later.body.id).not.toBe(id)
  })

  it('is not created again by a retry during the purge', async () => {
    const own = await newOwner(service)
    const bodies = Array.from({ length: 40 }, (_, index) => ({
      site_id: own.siteId,
      subject_id: `racing ${index}`,
    }))
    const send = (body: { subject_id: string }) => own.post(body, { 'idempotency-key': body.subject_id })
    for (const body of bodies) await own.remove((await send(body)).body.id)
    let isPurged = false
    const purging = purgeNow(service.sql).then(() => {
      isPurged = true
    })
    const answers = []
    while (!isPurged) answers.push(...(await Promise.all(bodies.map(send))))
    await purging
    answers.push(...(await Promise.all(bodies.map(send))))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201, 409]))
    const [row] = await service.sql<{ n: number }[]>`
      select count(*)::integer as n from consents where account_id = ${own.accountId}`
    expect(row).toEqual({ n: bodies.length })
    expect(answers.slice(-bodies.length).map(({ status }) => status)).toEqual(bodies.map(() => 409))
  })
})

describe('a purge', () => {
  beforeEach(() => purgeNow(service.sql))

  it('purges only records deleted before its instant, in every account', async () => {
    const old = new Date(Date.now() - 31 * 24 * 60 * 60 * 1000)
    const [one, other] = [await service.newAccount(), await service.newAccount()]
    const shape = { records: 3, entries: 2 }
    const due = await insertChains(service.sql, one, { ...shape, at: old })
    await insertChains(service.sql, one, { ...shape, at: old, isLive: true })
    await insertChains(service.sql, one, shape)
    await insertChains(service.sql, other, { ...shape, at: old })
    const counts = new Map([
      [one.accountId, 3],
      [other.accountId, 3],
    ])
    const planned = await countPurge(service.sql, purgeBefore(30), never)
    expect(new Map(planned.map(({ account_id, purged }) => [account_id, purged]))).toEqual(counts)
    expect(await purgeNow(service.sql, 30)).toEqual(counts)
    const purged = await service.sql<{ id: string }[]>`
      select id from consents where account_id = ${one.accountId} and purged_at is not null order by id`
    expect(purged.map(({ id }) => id)).toEqual(due.sort())
    for (const { accountId } of [one, other]) expect(await brokenChains(service.sql, accountId)).toEqual([])
  })

  it('strips a history longer than one statement strips in several statements', async () => {
    const account = await service.newAccount()
    const preferences = (version: number) => ({ note: `canary-${version}`.repeat(10) })
    await insertChains(service.sql, account, { records: 1, entries: 4100, preferences })
    await insertChains(service.sql, account, { records: 250, entries: 3, preferences })
    expect(await purgeNow(service.sql)).toEqual(new Map([[account.accountId, 251]]))
    expect(await brokenChains(service.sql, account.accountId)).toEqual([])
  })

  it('skips a record that cannot be purged or deleted, and reports it after everything else is done', async () => {
    const old = new Date(Date.now() - 31 * 24 * 60 * 60 * 1000)
    const [one, other] = await Promise.all([service.newAccount(), service.newAccount()])
    const ids = [
      ...(await insertChains(service.sql, one, { records: 300, entries: 2 })),
      ...(await insertChains(service.sql, one, { records: 9, entries: 2, isLive: true, at: old })),
    ]
    await insertChains(service.sql, other, { records: 2, entries: 2 })
    await service.sql`update sites set retention = '{"period": "P10D", "after": "last_change"}' where id = ${one.siteId}`
    const bad = [ids[150] ?? '', ids[303] ?? '']
    const [unpurgeable, undeletable] = bad
    await service.sql`
      insert into log_entries (account_id, consent_id, version, hash)
      values (${one.accountId}, ${undeletable ?? ''}, 3, ${Buffer.alloc(32)})`
    await service.sql.unsafe(`alter table consents add constraint unpurgeable
      check (purged_at is null or id <> '${unpurgeable}')`)
    const done: unknown[] = []
    const options = { before: purgeBefore(0), signal: never, onUnverified: () => expect.unreachable() }
    const run = async () => {
      for await (const own of purge(service.sql, options)) done.push(own)
    }
    await expect(run()).rejects.toThrow(`the record ${bad[1]} of the account ${one.accountId}: 23505; and 1 more`)
    expect(done).toEqual([
      { account_id: one.accountId, expired: 8, purged: 307, proofs: 0 },
      { account_id: other.accountId, expired: 0, purged: 2, proofs: 0 },
    ])
    const left = await service.sql<{ id: string }[]>`
      select id from consents where account_id = ${one.accountId} and purged_at is null order by id`
    expect(left.map(({ id }) => id).sort()).toEqual([...bad].sort())
    await service.sql`alter table consents drop constraint unpurgeable`
    await service.sql`delete from log_entries where account_id = ${one.accountId} and version = 3 and hash = ${Buffer.alloc(32)}`
    expect(await purgeNow(service.sql)).toEqual(new Map([[one.accountId, 2]]))
    expect(await brokenChains(service.sql, one.accountId)).toEqual([])
  })

  it('when the statistics cannot be counted, continues with every account and reports it', async () => {
    const { sql } = service
    const accounts = [await newOwner(service), await newOwner(service)]
    for (const own of accounts) await own.remove((await own.create({ subject_id: 'a person' })).id)
    await sql.unsafe(`create function slow() returns trigger language plpgsql
      as $$ begin raise exception using errcode = '57014'; end $$;
      create trigger slow before insert on statistics_progress execute function slow()`)
    const problems: string[] = []
    try {
      const options = { before: purgeBefore(0), signal: never, onUnverified: () => {} }
      const onProblem = (problem: string) => void problems.push(problem)
      for await (const { purged } of purge(sql, { ...options, onProblem })) expect(purged).toBe(1)
    } finally {
      await sql.unsafe('drop function slow cascade')
    }
    const told = accounts.map(
      ({ accountId }) => `the statistics of the account ${accountId} may lack 1 purged records: 57014`,
    )
    expect(problems.sort()).toEqual(told.sort())
    expect(
      (await service.call('GET', '/api/v1/stats?exact=true', { key: accounts[0]?.key ?? '' })).body.total,
    ).toMatchObject({
      records: 1,
      deleted: 1,
    })
  })

  it('stops after the current batch, and the next purge continues', async () => {
    const account = await service.newAccount()
    await insertChains(service.sql, account, { records: 700, entries: 2 })
    const stop = new AbortController()
    const watching = (async () => {
      while ((await countPurge(service.sql, purgeBefore(0), never))[0]?.purged === 700) await delay(1)
      stop.abort()
    })()
    const counts: number[] = []
    const options = {
      before: purgeBefore(0),
      signal: stop.signal,
      onUnverified: () => expect.unreachable(),
    }
    for await (const { purged } of purge(service.sql, options)) counts.push(purged)
    await watching
    expect(counts).toEqual([expect.any(Number)])
    const [first = 0] = counts
    expect([200, 400, 600]).toContain(first)
    expect(await purgeNow(service.sql)).toEqual(new Map([[account.accountId, 700 - first]]))
    expect(await brokenChains(service.sql, account.accountId)).toEqual([])
  })

  /** The embedded database's clock is the node's own. */
  const apart = it.skipIf(process.env['TEST_ENGINE'] !== 'postgres')
  apart.each([10, -10])('fails when the clock is %i days ahead of the database clock', async days => {
    const own = await newOwner(service)
    await service.sql`update sites set retention = '{"period": "P1D", "after": "last_change"}' where id = ${own.siteId}`
    const live = await own.create()
    await own.remove((await own.create()).id)
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + days * 24 * 60 * 60 * 1000 })
    try {
      const told = 'the clocks of this machine and of the database are 14400 minutes apart'
      await expect(purgeNow(service.sql, 5)).rejects.toThrow(told)
      await expect(countPurge(service.sql, purgeBefore(0), never)).rejects.toThrow(told)
      await expect(purgeJob(service.sql, { purgeAfterDays: null }).run(never)).rejects.toThrow(told)
    } finally {
      vi.useRealTimers()
    }
    expect((await own.get(live.id)).status).toBe(200)
    expect(await purgeNow(service.sql)).toEqual(new Map([[own.accountId, 1]]))
  })

  it('runs as a server job at its interval, and never runs if PURGE_AFTER_DAYS is never', async () => {
    const account = await service.newAccount()
    await insertChains(service.sql, account, { records: 2, entries: 2 })
    const [not, monthly, atOnce] = [null, 30, 0].map(days => purgeJob(service.sql, { purgeAfterDays: days }))
    expect(await not?.run(never)).toBe(null)
    expect(await monthly?.run(never)).toBe(null)
    expect(await atOnce?.run(never)).toEqual({ deleted: 0, purged: 2, proofs: 0, reads: 0 })
    expect(await atOnce?.run(never)).toBe(null)
    expect(monthly?.intervalMs).toBe(60 * 60_000)
    expect(atOnce?.intervalMs).toBe(60_000)
  })

  it('leaves every record and chain intact when two purges run concurrently with writes and deletions', async () => {
    const target: Target = { url: service.url, ...(await service.newAccount()) }
    const ledger = newLedger()
    let isOver = false
    const writing = write(target, ledger, { clients: 8 }, () => isOver)
    const until = performance.now() + 1200
    let purged = 0
    const purging = async () => {
      while (performance.now() < until || purged === 0) {
        for (const count of (await purgeNow(service.sql)).values()) purged += count
        await delay(5 * Math.random())
      }
    }
    await Promise.all([purging(), purging()])
    isOver = true
    await writing
    await purgeNow(service.sql)
    expect(await findContradictions(target, service.sql, ledger)).toEqual([])
    expect(ledger.requests.filter(({ isExpected }) => !isExpected)).toEqual([])
  })
})
