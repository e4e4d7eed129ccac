import type { Sql } from 'postgres'
import {
  type CheckAnswer,
  type CheckedMany,
  type CheckMany,
  type CheckQuery,
  type CheckReason,
  nearPerSubject,
  parseInstant,
} from '../../src/contract/index.ts'
import { toNearForm } from '../../src/contract/near-form.ts'
import { endOfConsent } from '../../src/contract/validity.ts'
import { purposeState } from '../../src/evidence/state.ts'
import { type Reach, reaches } from '../db/reach.ts'
import { Failure, noSite } from '../failure.ts'
import { lastIdAt } from '../ids.ts'
import { hasSite } from '../notices/queries.ts'
import {
  type DecidingRow,
  findDeciding,
  findNearOfMany,
  findSealedStates,
  type Question,
  type SealedState,
} from './check-queries.ts'
import { type SubjectSecret, standInOf } from './hmac.ts'

type Deps = { readonly sql: Sql } & SubjectSecret

/** @throws Failure `invalid_request` for a time in the future */
export async function checkSubject(
  deps: Deps,
  reach: Reach,
  { subject_id, ...query }: CheckQuery,
): Promise<CheckAnswer> {
  const [answer] = await answerAll(deps, reach, { ...query, subject_ids: [subject_id] })
  return answer as CheckAnswer
}

/**
 * Returns the answers in the order of the subjects.
 * @throws Failure `not_found` for a foreign or unknown site, `invalid_request` for a time in the future
 */
export async function checkSubjects(deps: Deps, reach: Reach, query: CheckMany): Promise<CheckedMany> {
  const { subject_ids, purpose, site_id = null, near_matches = false } = query
  if (site_id !== null && !(reaches(reach, site_id) && (await hasSite(deps.sql, reach.accountId, site_id))))
    throw noSite()
  const all = await answerAll(deps, reach, query)
  const unknown = all.filter(({ reason }) => reason === 'no_record').map(answer => answer.subject_id)
  const near = near_matches ? await findNear(deps, reach, unknown) : new Map<string, string[]>()
  return {
    purpose,
    site_id,
    at: all[0]?.at ?? '',
    answers: all.map(({ allowed, reason, record, expires_at, witnessed, sealed }, index) => {
      const found = reason === 'no_record' ? near.get(subject_ids[index] ?? '') : undefined
      return {
        ...{ allowed, reason, expires_at, witnessed },
        record_id: record?.id ?? null,
        site_id: record?.site_id ?? null,
        policy_version: record?.policy_version ?? null,
        ...(sealed && { sealed }),
        ...(found && { near_matches: found }),
      }
    }),
  }
}

async function findNear({ sql }: Deps, reach: Reach, unknown: readonly string[]): Promise<Map<string, string[]>> {
  const subjectIds = [...new Set(unknown)]
  const found = new Map<string, string[]>()
  if (subjectIds.length === 0) return found
  const near = { subjectIds, forms: subjectIds.map(toNearForm) }
  for (const { place, subject_id } of await findNearOfMany(sql, reach, near, nearPerSubject)) {
    const subject = subjectIds[place - 1] ?? ''
    found.set(subject, [...(found.get(subject) ?? []), subject_id])
  }
  return found
}

async function answerAll(deps: Deps, reach: Reach, query: CheckMany): Promise<CheckAnswer[]> {
  const { subject_ids, purpose, site_id, at, only_witnessed = false } = query
  const present = Date.now()
  const then = at === undefined ? null : Math.floor(parseInstant(at) ?? 0)
  if (then !== null && then > present) throw new Failure('invalid_request', 'at: must not be in the future')
  const now = new Date(then ?? present)
  const moment = then === null ? null : { instant: now, lastId: lastIdAt(then) }
  const question = { subjectIds: subject_ids, purpose, siteId: site_id, onlyWitnessed: only_witnessed, at: moment, now }
  const newest = await findNewest(deps, reach, question)
  return subject_ids.map((subject_id, index) => {
    const row = newest.get(index + 1)
    const expiresAt = row === undefined ? null : then === null ? row.expires_at : expiryOf(row)
    const reason = row === undefined ? 'no_record' : decide(row, { purpose, now, expiresAt })
    return {
      allowed: allowedBy(reason),
      reason,
      subject_id,
      purpose,
      site_id: site_id ?? row?.site_id ?? null,
      at: now.toISOString(),
      ...(row === undefined ? nothing : describe(row)),
      expires_at: expiresAt?.toISOString() ?? null,
      ...(row?.is_sealed && { sealed: true }),
    }
  })
}

/** Runs the same statements whatever they find. Returns the deciding rows by the places of their subjects. */
async function findNewest(
  { sql, ...secret }: Deps,
  reach: Reach,
  question: Question,
): Promise<ReadonlyMap<number, DecidingRow>> {
  const { at, subjectIds, purpose, onlyWitnessed } = question
  const stored = await findDeciding(sql, reach, question)
  if (!at) return new Map(stored.map(row => [row.place, row]))
  const hmacs = subjectIds.map(subjectId => standInOf(secret, reach, subjectId))
  const states = await findSealedStates(sql, reach, hmacs, { ...question, at })
  const sealed = states.flatMap(state => answerOf(state, purpose) ?? [])
  const bySite = new Map<string, DecidingRow>()
  for (const row of [...stored, ...sealed.filter(({ witnessed }) => witnessed || !onlyWitnessed)]) {
    const key = `${row.place} ${row.site_id}`
    const other = bySite.get(key)
    if (!other || isNewer(row, other)) bySite.set(key, row)
  }
  const chosen = new Map<number, DecidingRow>()
  for (const row of bySite.values()) {
    const other = chosen.get(row.place)
    if (!other || decidesOver(row, other)) chosen.set(row.place, row)
  }
  return chosen
}

/** On one site, where of two answers of one moment that to this service counts. */
function isNewer(one: DecidingRow, other: DecidingRow): boolean {
  const isSameTime = one.answered_at.getTime() === other.answered_at.getTime()
  return isSameTime && one.witnessed !== other.witnessed ? one.witnessed : isLater(one, other)
}

/** Between sites, where an answer that has the purpose comes first. */
function decidesOver(one: DecidingRow, other: DecidingRow): boolean {
  return one.is_named === other.is_named ? isLater(one, other) : one.is_named
}

function isLater(one: DecidingRow, other: DecidingRow): boolean {
  const difference = one.answered_at.getTime() - other.answered_at.getTime()
  return difference === 0 ? one.id > other.id : difference > 0
}

/** Undefined if no answer until then is sealed. */
function answerOf({ answers, entries, ...state }: SealedState, purpose: string): DecidingRow | undefined {
  const byVersion = new Map(answers.map(({ version, preferences }) => [version, preferences]))
  const given = entries.map(([version, accepted, at, isImported]) => {
    const preferences = byVersion.get(version) ?? {}
    const answer = Object.hasOwn(preferences, purpose) ? preferences[purpose] : undefined
    return { accepted, answer, at, isImported }
  })
  const last = given.at(-1)
  if (!last) return undefined
  const before = given.findLastIndex(({ accepted, answer }) => accepted !== last.accepted || answer !== last.answer)
  const newest = given[before + 1] ?? last
  const givenAt = newest.isImported ? state.given_at : null
  return {
    ...state,
    stated_at: givenAt ?? state.stated_at,
    answer: last.answer,
    is_named: last.answer !== undefined,
    is_sealed: true,
    answered_at: givenAt ?? new Date(newest.at),
    witnessed: !newest.isImported,
    was_given: given.slice(0, -1).some(({ accepted, answer }) => accepted && answer === true),
    was_answered: given.slice(0, -1).some(({ answer }) => answer !== undefined),
  }
}

const nothing = { record: null, notice: null, renewal: null, origin: null, given_at: null, witnessed: null }

function describe(row: DecidingRow) {
  const { origin_system: system, origin_id: id, origin_evidence: evidence, given_at, witnessed } = row
  return {
    record: recordOf(row),
    notice: noticeOf(row),
    renewal: renewalOf(row),
    origin: system === null ? null : { system, id, evidence },
    given_at: given_at?.toISOString() ?? null,
    witnessed,
  }
}

function allowedBy(reason: CheckReason): boolean | null {
  if (reason === 'consented') return true
  return reason === 'no_record' || reason === 'purpose_not_answered' ? null : false
}

/** Only the current state's expiry is stored. */
function expiryOf({ accepted, stated_at, valid_for }: DecidingRow): Date | null {
  return accepted ? endOfConsent(stated_at, valid_for) : null
}

function decide(
  row: DecidingRow,
  { purpose, now, expiresAt }: { readonly purpose: string; readonly now: Date; readonly expiresAt: Date | null },
): CheckReason {
  const { accepted, answer, was_given: wasGiven, was_answered: wasAnswered } = row
  const state = purposeState({ accepted, answer, wasGiven, wasAnswered })
  if (state !== 'given') return state === 'not_answered' ? 'purpose_not_answered' : state
  const named = row.purposes ?? []
  if (named.length > 0 && !named.some(({ key }) => key === purpose)) return 'purpose_not_in_notice'
  if (expiresAt !== null && expiresAt <= now) return 'expired'
  return row.renewal_version === null ? 'consented' : 'renewal_required'
}

function recordOf(row: DecidingRow): CheckAnswer['record'] {
  const { id, site_id, accepted, answer, policy_version, version } = row
  return {
    id,
    site_id,
    accepted,
    answer: answer ?? null,
    policy_version,
    version,
    created_at: row.created_at.toISOString(),
    stated_at: row.stated_at.toISOString(),
  }
}

function noticeOf(row: DecidingRow): CheckAnswer['notice'] {
  if (row.published_at === null || row.notice_entry === null) return 'not held'
  return {
    policy_version: row.policy_version,
    languages: row.languages ?? [],
    locale: row.notice_locale,
    purposes: [...new Set(row.purposes?.map(({ key }) => key))],
    controller: row.controller,
    valid_for: row.valid_for,
    published_at: row.published_at.toISOString(),
    effective_from: row.effective_from?.toISOString() ?? null,
    entry: row.notice_entry,
  }
}

function renewalOf(row: DecidingRow): CheckAnswer['renewal'] {
  if (row.renewal_version === null || row.renewal_published_at === null) return null
  return {
    policy_version: row.renewal_version,
    published_at: row.renewal_published_at.toISOString(),
    effective_from: row.renewal_effective_from?.toISOString() ?? null,
  }
}
