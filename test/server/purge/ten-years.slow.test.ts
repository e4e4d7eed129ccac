import { randomBytes } from 'node:crypto'
import { afterEach, expect, it, vi } from 'vitest'
import { machine } from '../../../server/audit/entries.ts'
import { wholeAccount } from '../../../server/db/reach.ts'
import { findSecret } from '../../../server/db/secrets.ts'
import { insertHold } from '../../../server/holds/queries.ts'
import { newId } from '../../../server/ids.ts'
import { Failures } from '../../../server/purge/failures.ts'
import { deleteExpired } from '../../../server/purge/retention.ts'
import { purge, purgeBefore } from '../../../server/purge/service.ts'
import { standInOf } from '../../../server/subjects/hmac.ts'
import { listSealed } from '../../../server/subjects/sealed-queries.ts'
import type { Retention } from '../../../src/contract/index.ts'
import { endOfConsent } from '../../../src/contract/validity.ts'
import { consentOf } from '../../../src/evidence/state.ts'
import { useService } from '../../support/service.ts'
import { publishNotice } from '../consents/notices.ts'
import { newOwner, type Owner } from '../consents/records.ts'
import { newSite, sealSince } from '../subjects/fixtures.ts'
import { verified } from '../verify/verified.ts'
import { insertChains } from './chains.ts'

const service = useService()
const persons = Number(process.env['CONSENTCTL_TEST_PERSONS'] ?? 1000)
const dayMs = 24 * 60 * 60 * 1000
const years = 10
const start = Date.now() - years * 365.25 * dayMs

afterEach(() => void vi.useRealTimers())

/** mulberry32. */
function newRandom(seed: number): (below: number) => number {
  let state = seed
  return below => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 2 ** 32) * below)
  }
}

interface Site {
  readonly id: string
  readonly retention: Retention
  readonly entry: number | null
  readonly validFor: string | null
  readonly named: readonly string[]
}

const rules: (Retention & { readonly validFor?: string; readonly purposes?: readonly string[] })[] = [
  { period: 'P3Y', after: 'withdrawal' },
  { period: 'P1Y1M1D', after: 'withdrawal', validFor: 'P2Y', purposes: ['news'] },
  { period: 'P6M', after: 'expiry', validFor: 'P13M' },
  { period: 'P30M', after: 'last_change', validFor: 'P5Y' },
  { period: 'P150W', after: 'creation', validFor: 'P2Y' },
]

async function newSites(owner: Owner): Promise<Site[]> {
  const sites: Site[] = []
  for (const { validFor, purposes = [], ...retention } of rules) {
    const id = await newSite(service, owner)
    const publication = { version: 1, languages: ['en'], purposes, ...(validFor && { validFor }) }
    if (validFor) await publishNotice(service, { accountId: owner.accountId, siteId: id }, publication)
    const [notice] = await service.sql<{ published_entry: number }[]>`
      select published_entry from notices where account_id = ${owner.accountId} and site_id = ${id}`
    await service.sql`
      update sites set retention = ${service.sql.json(retention)} where account_id = ${owner.accountId} and id = ${id}`
    sites.push({ id, retention, entry: notice?.published_entry ?? null, validFor: validFor ?? null, named: purposes })
  }
  return sites
}

interface Answer {
  readonly at: Date
  readonly accepted: boolean
  readonly preferences: Readonly<Record<string, boolean>>
}

interface Person {
  readonly id: string
  readonly subject: string
  readonly site: Site
  readonly answers: readonly Answer[]
  readonly expiresAt: Date | null
  readonly heldUntil: Date | null
  /** When the rule deletes the record; null for never. */
  readonly due: Date | null
}

const choices = [
  {},
  { news: true },
  { news: false },
  { ads: true },
  { news: true, ads: false },
  { news: false, ads: true },
]

function newPerson(site: Site, index: number, random: (below: number) => number): Person {
  let time = start + random(9 * 365 * 24 * 60) * 60_000
  const id = idAt(time)
  const answers = Array.from({ length: 1 + random(4) }, (): Answer => {
    const at = new Date(time)
    time += 1 + random(200 * 24 * 60) * 60_000
    return { at, accepted: random(3) > 0, preferences: choices[random(choices.length)] ?? {} }
  })
  const last = answers.at(-1) as Answer
  const expiresAt = last.accepted ? endOfConsent(last.at, site.validFor) : null
  const heldUntil = index % 7 === 0 ? new Date(start + random(years * 365) * dayMs) : null
  const base = { id, subject: `person-${index}@example.com`, site, answers, expiresAt, heldUntil }
  return { ...base, due: dueOf(base) }
}

const idAt = (time: number) => newId().replace(/^.{13}/, time.toString(16).padStart(12, '0').replace(/^.{8}/, '$&-'))

function dueOf({ site, answers, expiresAt, heldUntil }: Omit<Person, 'due'>): Date | null {
  const { period, after } = site.retention
  const latest = (...times: (Date | null)[]) => new Date(Math.max(...times.map(time => time?.getTime() ?? 0)))
  const [first, last] = [answers[0] as Answer, answers.at(-1) as Answer]
  const from =
    after === 'withdrawal'
      ? withdrawalOf(site, answers)
      : after === 'expiry'
        ? expiresAt
        : after === 'creation'
          ? first.at
          : last.at
  if (!from) return null
  const isGuarded = (after === 'creation' || after === 'last_change') && last.accepted && site.entry !== null
  return latest(endOfConsent(from, period), isGuarded ? expiresAt : null, heldUntil)
}

function withdrawalOf({ named }: Site, answers: readonly Answer[]): Date | null {
  const states = consentOf(answers, named).events.map(({ state }) => state)
  const given = Math.max(states.lastIndexOf('given'), states.lastIndexOf('partly'))
  return given === -1 ? null : (answers[given + 1]?.at ?? null)
}

async function load({ accountId, keyId }: Owner, people: readonly Person[]): Promise<void> {
  const { sql } = service
  const bytes = () => `\\x${randomBytes(32).toString('hex')}`
  const rows = people.map(({ id, subject, site, answers, expiresAt }) => {
    const [first, last] = [answers[0] as Answer, answers.at(-1) as Answer]
    return {
      ...{ id, site_id: site.id, subject_id: subject, notice_entry: site.entry, expires_at: expiresAt },
      ...{ accepted: last.accepted, preferences: last.preferences, version: answers.length, hash: bytes() },
      ...{ created_at: first.at, updated_at: last.at },
    }
  })
  const entries = people.flatMap(({ id, answers }) =>
    answers.map((answer, index) => ({ id, version: index + 1, hash: bytes(), ...answer })),
  )
  await sql`
    insert into consents (account_id, id, site_id, subject_id, accepted, preferences, policy_version, version, record_hash,
      chain_head, created_at, updated_at, notice_entry, expires_at)
    select ${accountId}::uuid, id, site_id, subject_id, accepted, preferences, 1, version, hash, hash, created_at, updated_at,
      notice_entry, expires_at
    from jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb) as r (id uuid, site_id uuid, subject_id text, accepted boolean,
      preferences jsonb, version integer, hash bytea, created_at timestamptz, updated_at timestamptz, notice_entry integer,
      expires_at timestamptz)`
  await sql`
    insert into consent_history (account_id, consent_id, version, action, accepted, preferences, policy_version, changed_by,
      actor_id, created_at, salt, payload_hash, hash)
    select ${accountId}::uuid, id, version, case version when 1 then 'created' else 'updated' end, accepted, preferences, 1,
      'api_key', ${keyId}::uuid, at, hash, hash, hash
    from jsonb_to_recordset(${JSON.stringify(entries)}::text::jsonb) as e (id uuid, version integer, hash bytea, at timestamptz,
      accepted boolean, preferences jsonb)`
  await sql`analyze consents, consent_history`
}

async function hold({ accountId }: Owner, people: readonly Person[]): Promise<void> {
  const subjectSecret = (await findSecret(service.sql, 'subject')) as Buffer
  for (const { subject, heldUntil } of people) {
    if (!heldUntil) continue
    const subject_hmac = standInOf({ subjectSecret }, { accountId }, subject)
    const row = { id: newId(), subject_hmac, reason: 'a claim', ticket: null, created_at: new Date(start) }
    await insertHold(service.sql, accountId, { ...row, held_until: heldUntil }, machine)
  }
}

async function deletedAt(owner: Owner, now: Date): Promise<string[]> {
  vi.useFakeTimers({ toFake: ['Date'], now })
  const failures = new Failures()
  await deleteExpired(service.sql, { signal: new AbortController().signal, isModest: false }, failures)
  vi.useRealTimers()
  failures.throwIfAny()
  const rows = await service.sql<{ id: string }[]>`
    select id from consents where account_id = ${owner.accountId} and deleted_at is not null order by id`
  return rows.map(({ id }) => id)
}

interface Deleted {
  readonly id: string
  readonly subject: string
  readonly at: Date
  /** When its sealed proof ends; null without one. */
  readonly until: Date | null
  readonly holds: { readonly from: number; readonly until: Date }[]
}

const purgeAfterDays = 30
const deletions = Number(process.env['CONSENTCTL_TEST_PERSONS'] ?? 250)
const periods = ['P2Y', 'P30M', 'P40D', null]

async function newDeleted(owner: Owner, random: (below: number) => number): Promise<Deleted[]> {
  const sites: { id: string; period: string | null }[] = []
  for (const period of periods) {
    const id = await newSite(service, owner)
    if (period) await sealSince(service, { ...owner, siteId: id }, { basis: 'a claim', period }, new Date(start))
    sites.push({ id, period })
  }
  const people: Deleted[] = []
  for (let index = 0; index < deletions; index += 1) {
    const site = sites[index % sites.length] as (typeof sites)[number]
    const at = new Date(start + random(9 * 365 * 24 * 60) * 60_000)
    const subject = `deleted-${index}@example.com`
    const preferences = (version: number) => ({ news: (version + index) % 2 === 0, note: subject })
    const shape = { records: 1, entries: 2 + random(4), subject, siteId: site.id, at, preferences }
    const [id = ''] = await insertChains(service.sql, owner, shape)
    people.push({ id, subject, at, until: endOfConsent(at, site.period), holds: [] })
  }
  return people
}

async function holdSome(owner: Owner, people: readonly Deleted[], from: number, random: (below: number) => number) {
  const subjectSecret = (await findSecret(service.sql, 'subject')) as Buffer
  for (const { subject, holds } of people) {
    if (random(8) > 0) continue
    const until = new Date(from + random(4 * 365) * dayMs)
    const subject_hmac = standInOf({ subjectSecret }, owner, subject)
    const row = { id: newId(), subject_hmac, reason: 'a claim', ticket: null, created_at: new Date(start) }
    await insertHold(service.sql, owner.accountId, { ...row, held_until: until }, machine)
    holds.push({ from, until })
  }
}

/** The states after each of the runs, by the rule alone. */
function expectedAt(people: readonly Deleted[], runs: readonly number[]) {
  const states = runs.map(() => ({ purged: [] as string[], sealed: [] as string[] }))
  for (const { id, at, until, holds } of people) {
    let state: 'deleted' | 'sealed' | 'purged' = 'deleted'
    for (const [index, now] of runs.entries()) {
      const isHeld = holds.some(hold => hold.from <= now && hold.until.getTime() > now)
      if (state === 'deleted' && !isHeld && at.getTime() + purgeAfterDays * dayMs <= now)
        state = until && until.getTime() > now ? 'sealed' : 'purged'
      if (state === 'sealed' && !isHeld && (until?.getTime() ?? 0) <= now) state = 'purged'
      if (state !== 'deleted') states[index]?.purged.push(id)
      if (state === 'sealed') states[index]?.sealed.push(id)
    }
  }
  return states.map(({ purged, sealed }) => ({ purged: purged.sort(), sealed: sealed.sort() }))
}

/** The database with the time of the test. */
const timed = () =>
  new Proxy(service.sql, {
    apply: (target, self, args) =>
      String(args[0]).includes('clock_timestamp()')
        ? Promise.resolve([{ now: Date.now() }])
        : Reflect.apply(target, self, args),
  })

async function purgeAt(owner: Owner, now: number) {
  vi.useFakeTimers({ toFake: ['Date'], now })
  const onUnverified = () => expect.unreachable()
  const options = { before: purgeBefore(purgeAfterDays), signal: new AbortController().signal, onUnverified }
  for await (const _ of purge(timed(), options));
  vi.useRealTimers()
  const { accountId } = owner
  const ids = (rows: readonly { id: string }[]) => rows.map(({ id }) => id)
  return {
    purged: ids(
      await service.sql`
      select id from consents where account_id = ${accountId} and purged_at is not null order by id`,
    ),
    sealed: ids(
      await service.sql`
      select consent_id as id from consent_history where account_id = ${accountId} and sealed is not null order by 1`,
    ),
  }
}

it(`sealed proofs › when ${deletions} persons are deleted over ${years} years, each is left and removed at its instant, and a hold delays both`, async () => {
  const seed = Number(process.env['CONSENTCTL_TEST_SEED'] ?? 7)
  const random = newRandom(seed)
  const owner = await newOwner(service)
  const people = await newDeleted(owner, random)
  const middle = start + (years / 2) * 365 * dayMs
  const instants = people.flatMap(({ at, until }) => [
    at.getTime() + purgeAfterDays * dayMs,
    ...(until ? [until.getTime()] : []),
  ])
  const edges = Array.from({ length: 12 }, () => instants[random(instants.length)] ?? start).flatMap(time => [
    time - 1,
    time,
  ])
  const regular = Array.from({ length: 16 }, (_, index) => start + ((index + 1) * years * 365 * dayMs) / 16)
  const runs = [...new Set([...regular, ...edges, middle])].filter(time => time < Date.now()).sort((a, b) => a - b)
  await holdSome(owner, people, start, random)
  const found: Awaited<ReturnType<typeof purgeAt>>[] = []
  for (const now of runs) {
    if (now === middle) await holdSome(owner, people, middle, random)
    found.push(await purgeAt(owner, now))
  }
  const expected = expectedAt(people, runs)
  for (const [index, now] of runs.entries())
    expect(found[index], `seed ${seed}, ${new Date(now).toISOString()}`).toEqual(expected[index])
  const subjectSecret = (await findSecret(service.sql, 'subject')) as Buffer
  const sealed = new Set(expected.at(-1)?.sealed)
  for (const { id, subject } of people) {
    const list = (name: string) =>
      listSealed(
        service.sql,
        wholeAccount(owner.accountId),
        { subjectHmac: standInOf({ subjectSecret }, owner, name) },
        10,
      )
    expect((await list(subject)).map(({ record_id }) => record_id)).toEqual(sealed.has(id) ? [id] : [])
    expect(await list(`${subject} `)).toEqual([])
  }
  expect(sealed.size).toBeGreaterThan(deletions / 40)
  expect((await verified(service.sql, { account: owner.accountId })).findings.map(({ detail }) => detail)).toEqual([])
}, 900_000)

it(`retention › when ${persons} persons answer over ${years} years, each rule deletes at its instant and a hold delays it`, async () => {
  const seed = Number(process.env['CONSENTCTL_TEST_SEED'] ?? 7)
  const random = newRandom(seed)
  const owner = await newOwner(service)
  const sites = await newSites(owner)
  const people = Array.from({ length: persons }, (_, index) =>
    newPerson(sites[index % sites.length] as Site, index, random),
  )
  await load(owner, people)
  await hold(owner, people)
  const due = people.flatMap(each => (each.due && each.due.getTime() < Date.now() ? each.due.getTime() : []))
  const edges = Array.from({ length: 15 }, () => due[random(due.length)] ?? start).flatMap(time => [time - 1, time])
  const regular = Array.from({ length: 20 }, (_, index) => start + ((index + 1) * years * 365 * dayMs) / 20)
  let deleted = 0
  for (const now of [...regular, ...edges].sort((a, b) => a - b)) {
    const expected = people.filter(each => each.due && each.due.getTime() <= now).map(({ id }) => id)
    expect(await deletedAt(owner, new Date(now)), `seed ${seed}, ${new Date(now).toISOString()}`).toEqual(
      expected.sort(),
    )
    deleted = expected.length
  }
  expect(deleted).toBeGreaterThan(persons / 4)
  expect(deleted).toBeLessThan(persons)
}, 120_000)
