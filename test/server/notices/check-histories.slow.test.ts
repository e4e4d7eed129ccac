import { afterAll, beforeAll, beforeEach, expect, it, vi } from 'vitest'
import { wholeAccount } from '../../../server/db/reach.ts'
import { checkSubject } from '../../../server/subjects/check.ts'
import type { CheckAnswer as Answer } from '../../../src/contract/index.ts'
import { randomFrom } from '../../e2e/campaign.ts'
import { mediaBytes, subjectSecret, useService } from '../../support/service.ts'
import { newImporter } from '../consents/imports.ts'
import { inTurns } from '../consents/records.ts'
import {
  type Asked,
  after,
  expectedAnswer,
  newerAnswers,
  type PublishedNotice,
  type RecordOf,
  type World,
} from './check-model.ts'
import { expectedConsent, stateAfter } from './consent-model.ts'

const service = useService()

/** CONSENTCTL_TEST_CHECKS=20000 by hand, or 100000 with `-t list`. */
const checks = Number(process.env['CONSENTCTL_TEST_CHECKS'] ?? 300)
const seed = Number(process.env['CONSENTCTL_TEST_SEED'] ?? Date.now() % 1_000_000)
const random = randomFrom(seed)
let receipts = 0
const chance = (part: number) => random() < part
const below = (limit: number) => Math.floor(random() * limit)
const pick = <T>(list: readonly T[]): T => list[below(list.length)] as T

const day = 86_400_000
const purposes = ['marketing', 'analytics', 'constructor']
const validities = { P10D: { months: 0, days: 10 }, P1M: { months: 1, days: 0 }, P1Y2M3D: { months: 14, days: 3 } }
const statuses: Readonly<Record<string, string>> = {
  'dpv:ConsentGiven': 'given',
  'urn:consentctl:ConsentPartlyGiven': 'partly',
  'dpv:ConsentWithdrawn': 'withdrawn',
  'dpv:ConsentRefused': 'refused',
  'dpv:ConsentExpired': 'expired',
}
const iso = (instant: number) => new Date(instant).toISOString()

beforeAll(() => void vi.useFakeTimers({ toFake: ['Date'], now: Date.now() }))
afterAll(() => void vi.useRealTimers())

function advance(): void {
  const length = pick([0, 1, 1000, day * random(), 12 * day * random(), 60 * day * random()])
  vi.setSystemTime(Date.now() + Math.floor(length))
}

/** An account with its history, made by the API and kept in memory. */
async function newHistory(subjects: readonly string[]) {
  const owner = await newImporter(service)
  const session = () => service.signIn(owner)
  const other = await service.call('POST', '/api/v1/sites', {
    headers: await session(),
    body: { name: 'other', allow_duplicate: true },
  })
  const sites: string[] = [owner.siteId, other.body.id]
  const world: World = { records: [], notices: [] }
  const instants: number[] = []
  const purged = new Set<string>()
  const last = (record: RecordOf) => record.states.at(-1)
  const live = () => world.records.filter(record => last(record)?.isLive)

  const statement = () => ({
    accepted: chance(0.8),
    preferences: Object.fromEntries(
      purposes.filter(() => chance(0.6)).map(name => [name, pick<unknown>([true, true, true, false, 'true', null])]),
    ),
  })
  const push = (record: RecordOf, fields: Partial<RecordOf['states'][number]>) =>
    void record.states.push({
      accepted: false,
      preferences: {},
      isLive: true,
      version: 0,
      ...last(record),
      isStatement: false,
      isImported: false,
      at: Date.now(),
      ...fields,
    })

  async function create() {
    const [site, subject, version, said] = [pick(sites), pick(subjects), 1 + below(4), statement()]
    const { id } = await owner.create({ site_id: site, subject_id: subject, policy_version: version, ...said })
    const held = world.notices.find(one => one.site === site && one.version === version) ?? null
    const record: RecordOf = { id, site, subject, held, states: [] }
    push(record, { ...said, version, isStatement: true })
    world.records.push(record)
  }
  async function importOne() {
    const [site, subject, now] = [pick(sites), pick(subjects), Date.now()]
    const turns = [...instants.flatMap(at => [at - 1, at, at + 1]), now - below(100 * day)].filter(at => at <= now)
    const times = Array.from({ length: 1 + below(3) }, () => pick(turns)).sort((one, other) => one - other)
    const answers = times.map(at => ({ at, policy_version: 1 + below(4), ...statement() }))
    const [first, ...changes] = answers.map(({ at, ...said }) => ({ given_at: iso(at), ...said }))
    if (!first) return
    const row = { site_id: site, subject_id: subject, ...first, changes }
    const id = await owner.importOne(row)
    const record: RecordOf = { id, site, subject, held: null, states: [] }
    for (const { policy_version: version, ...answer } of answers)
      push(record, { ...answer, version, isStatement: true, isImported: true })
    world.records.push(record)
  }
  async function update() {
    const record = pick(live())
    if (!record) return
    const said = statement()
    expect((await owner.update(record.id, said)).status).toBe(200)
    const { accepted, preferences } = last(record) ?? {}
    if (JSON.stringify({ accepted, preferences }) !== JSON.stringify(said)) push(record, { ...said, isStatement: true })
  }
  async function remove() {
    const record = pick(live())
    if (!record) return
    expect((await owner.remove(record.id)).status).toBe(200)
    push(record, { isLive: false })
  }
  async function restore() {
    const record = pick(world.records.filter(one => !last(one)?.isLive))
    if (!record) return
    expect((await owner.restore(record.id)).status).toBe(200)
    push(record, { isLive: true })
  }
  async function publish() {
    const [site, version] = [pick(sites), 1 + below(4)]
    if (world.notices.some(one => one.site === site && one.version === version)) return
    const validFor = pick([null, 'P10D', 'P1M', 'P1Y2M3D'] as const)
    const notice: PublishedNotice = {
      site,
      version,
      publishedAt: Date.now(),
      effectiveFrom: pick([null, Date.now() - day, Date.now() + below(40 * day)]),
      requiresRenewal: chance(0.4),
      purposes: pick([[], purposes, ['marketing'], ['analytics', 'constructor']]),
      validity: validFor && validities[validFor],
    }
    const path = `/api/v1/sites/${site}/notices/${version}`
    const headers = await session()
    const body = {
      purposes: notice.purposes.map(key => ({ key, title: key })),
      valid_for: validFor,
      requires_renewal: notice.requiresRenewal,
      effective_from: notice.effectiveFrom && iso(notice.effectiveFrom),
    }
    const answers = [
      await service.call('PUT', path, { headers, body }),
      await service.call('PUT', `${path}/texts/en`, { headers, body: mediaBytes('We ask.', 'text/plain') }),
      await service.call('POST', `${path}/publish`, { headers, body: {} }),
    ]
    for (const { status, text } of answers) expect([200, 201], text).toContain(status)
    world.notices.push(notice)
  }

  /** Around everything that happened, will end or comes into effect, and not in the future. */
  function pastInstant(): number {
    const turns = [
      ...instants,
      ...world.notices.flatMap(({ effectiveFrom }) => effectiveFrom ?? []),
      ...world.records.flatMap(({ held, states }) =>
        states.map(({ at }) => (held?.validity ? after(at, held.validity) : at)),
      ),
    ].filter(instant => instant < Date.now())
    return turns.length === 0 ? Date.now() : pick(turns) + pick([-1, 0, 0, 1])
  }
  function newQuestion() {
    const at = chance(0.4) ? undefined : pastInstant()
    const asked: Asked = {
      subject: pick(subjects),
      purpose: pick(purposes),
      site: pick([undefined, ...sites]),
      at: at ?? Date.now(),
      onlyWitnessed: chance(0.25),
    }
    return { at, asked }
  }
  async function check() {
    const { at, asked } = newQuestion()
    const query = new URLSearchParams({
      subject_id: asked.subject,
      purpose: asked.purpose,
      ...(asked.site && { site_id: asked.site }),
      ...(at !== undefined && { at: iso(at) }),
      ...(asked.onlyWitnessed && { only_witnessed: 'true' }),
    })
    const { body, text } = await service.call('GET', `/api/v1/subjects/check?${query}`, { key: owner.key })
    const { reason, allowed, record, notice, expires_at, renewal, given_at, witnessed, origin } = body
    const answer = {
      reason,
      allowed,
      id: record?.id ?? null,
      notice: notice?.policy_version ?? notice,
      ends: expires_at === null ? null : Date.parse(expires_at),
      renewal: renewal?.policy_version ?? null,
      given: given_at && Date.parse(given_at),
      stated: record && Date.parse(record.stated_at),
      witnessed,
    }
    const why = `CONSENTCTL_TEST_SEED=${seed} ${query} ${text}\n${JSON.stringify(world, null, 1)}`
    expect(answer, why).toEqual(expectedAnswer(world, asked))
    expect(origin?.system ?? null).toBe(given_at && 'usercentrics')
    await compareMany(asked, at, body)
    tell(body)
  }
  /** One request for several must answer like one for each. */
  async function compareMany({ subject, purpose, site, onlyWitnessed }: Asked, at: number | undefined, single: Answer) {
    const subject_ids = ['nobody', ...subjects, subject]
    const options = { site_id: site, at: at === undefined ? undefined : iso(at), only_witnessed: onlyWitnessed }
    const { body, text } = await service.call('POST', '/api/v1/subjects/check', {
      key: owner.key,
      body: { subject_ids, purpose, ...options },
    })
    const { answers } = body
    expect(answers, text).toHaveLength(subject_ids.length)
    expect(answers[0].reason).toBe('no_record')
    for (const index of [1 + subjects.indexOf(subject), 3])
      expect(answers[index], `CONSENTCTL_TEST_SEED=${seed} ${text}`).toEqual(inList(single))
  }
  /** Compares one request for all subjects with a single check of each, and with the model. */
  async function checkList() {
    const { at, asked } = newQuestion()
    const { purpose, site: site_id, onlyWitnessed: only_witnessed } = asked
    const query = { purpose, site_id, at: at === undefined ? undefined : iso(at), only_witnessed }
    const body = { ...query, subject_ids: subjects }
    const { body: list, text } = await service.call('POST', '/api/v1/subjects/check', { key: owner.key, body })
    expect(list.answers, text).toHaveLength(subjects.length)
    const [deps, reach] = [{ sql: service.sql, subjectSecret }, wholeAccount(owner.accountId)]
    const singles = await inTurns(subjects, 8, subject_id => checkSubject(deps, reach, { ...query, subject_id }))
    const recordsOf = new Map(subjects.map(subject => [subject, [] as RecordOf[]]))
    for (const record of world.records) recordsOf.get(record.subject)?.push(record)
    for (const [index, subject] of subjects.entries()) {
      const [answer, single] = [list.answers[index], singles[index] as Answer]
      const records = recordsOf.get(subject) ?? []
      const why = `CONSENTCTL_TEST_SEED=${seed} ${JSON.stringify({ ...query, subject, records, notices: world.notices })}`
      expect(answer, why).toEqual(inList(single))
      tell(single)
      if (purged.has(subject)) continue
      const { reason, allowed, id } = expectedAnswer({ ...world, records }, { ...asked, subject })
      expect([answer.reason, answer.allowed, answer.record_id], why).toEqual([reason, allowed, id])
    }
  }
  async function compareReceipts() {
    for (const record of live()) {
      const { body, text } = await service.call('GET', `/api/v1/consents/${record.id}/receipt`, { key: owner.key })
      const { consent_status, purposes, expires_at, newer_answers } = body
      const since = (purposes as { since: string | null }[]).map(one => ({
        ...one,
        since: one.since && Date.parse(one.since),
      }))
      const told = { status: statuses[consent_status as string], purposes: since }
      const ends = expires_at && Date.parse(expires_at)
      const names = purposes.map(({ purpose }: { purpose: string }) => purpose)
      const newer = newerAnswers(world, record, names).map(({ purpose, newest, at }) => ({
        ...{ purpose, record_id: newest.id, answered_at: iso(at) },
        state: stateAfter(newest, purpose, Date.now()),
      }))
      const why = `CONSENTCTL_TEST_SEED=${seed} ${text}\n${JSON.stringify(world, null, 1)}`
      expect(told, why).toEqual(expectedConsent(record, ends, Date.now()))
      expect(newer_answers, why).toEqual(newer)
      receipts += 1
    }
  }
  /** Purges some subjects whose records leave sealed proofs. */
  async function purge() {
    const headers = await session()
    for (const site of sites) {
      const body = { sealed_proof: { basis: 'GDPR Art. 17(3)(e)', period: 'P10D' } }
      expect((await service.call('PATCH', `/api/v1/sites/${site}`, { headers, body })).status).toBe(200)
    }
    for (const subject of subjects.filter(() => chance(0.3))) {
      purged.add(subject)
      for (const { id } of live().filter(record => record.subject === subject)) await owner.remove(id)
      const ids = world.records.filter(record => record.subject === subject).map(({ id }) => id)
      if (ids.length === 0) continue
      const { status, text } = await service.call('POST', '/api/v1/subjects/purge', { key: owner.key, body: { ids } })
      expect(status, text).toBe(200)
    }
  }
  const ofPersons = [create, create, create, importOne, importOne, update, update, remove, restore]
  async function step() {
    advance()
    await pick([...ofPersons, publish, publish])()
    instants.push(Date.now())
  }
  /** As many changes at one time, after a notice. */
  async function stepOfMany(changes: number) {
    advance()
    await publish()
    for (let made = 0; made < changes; made += 1) await pick(ofPersons)()
    instants.push(Date.now())
  }
  return { step, stepOfMany, purge, check, checkList, compareReceipts }
}

const told = new Map<string, number>()
const tell = ({ witnessed, reason, sealed }: Answer) => {
  const name = `${sealed ? 'sealed, ' : ''}${witnessed === false ? 'imported, ' : ''}${reason}`
  told.set(name, (told.get(name) ?? 0) + 1)
}

/** As the answer to a request for several has it. */
function inList({ allowed, reason, expires_at, witnessed, record, sealed }: Answer) {
  return {
    ...{ allowed, reason, expires_at, witnessed },
    record_id: record?.id ?? null,
    site_id: record?.site_id ?? null,
    policy_version: record?.policy_version ?? null,
    ...(sealed && { sealed }),
  }
}

beforeEach(() => told.clear())

it(`answers and signs like an independent model on random histories (CONSENTCTL_TEST_SEED=${seed})`, {
  timeout: 3_600_000,
}, async () => {
  let count = 0
  while (count < checks) {
    const { step, check, compareReceipts } = await newHistory(['maria', 'x'])
    for (let steps = 0; steps < 20; steps += 1) {
      await step()
      for (let asked = 0; asked < Math.floor(steps / 2); asked += 1, count += 1) await check()
    }
    await compareReceipts()
  }
  if (checks >= 1000)
    process.stderr.write(`${receipts} receipts, ${count} checks: ${JSON.stringify(Object.fromEntries(told))}\n`)
  expect(told.size).toBeGreaterThan(6)
})

it(`answers a list like a single check of each on random histories (CONSENTCTL_TEST_SEED=${seed})`, {
  timeout: 3_600_000,
}, async () => {
  const subjects = Array.from({ length: Math.min(1000, checks / 10) }, (_, index) => `person ${index}`)
  let count = 0
  while (count < checks) {
    const { stepOfMany, purge, checkList } = await newHistory(subjects)
    for (let steps = 0; steps < 20; steps += 1) await stepOfMany(subjects.length / 3)
    for (let lists = 0; lists < 10; lists += 1, count += subjects.length) {
      if (lists === 8) await purge()
      await checkList()
      advance()
    }
  }
  if (checks >= 1000) process.stderr.write(`${count} checks of lists: ${JSON.stringify(Object.fromEntries(told))}\n`)
  expect(told.size).toBeGreaterThan(6)
})
