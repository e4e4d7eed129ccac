import type { Client } from '../client/client.ts'
import { ApiError, EndlessListError } from '../client/errors.ts'
import { unseen } from '../client/pages.ts'
import { consents } from '../contract/consents.ts'
import type { ErasureReceipt } from '../contract/documents/erasure-receipt.ts'
import type { Consent, ConsentQuery, HoldNotice } from '../contract/index.ts'
import { parseInstant } from '../contract/instant.ts'
import {
  erasedRecordsLimit,
  type PurgeAnswer,
  type SealedProofs,
  subjects as subjectEndpoints,
} from '../contract/subjects.ts'
import { CliError, exit } from '../errors/errors.ts'
import { exitOf, explain } from '../errors/explain.ts'
import { mapInOrder } from '../io/concurrency.ts'

export interface Target {
  readonly id: string
  readonly site_id: string | null
  readonly subject: number
  /** Of the record when it was planned; only for a withdrawal. */
  readonly version?: number
}

const unlimited = { limit: Number.POSITIVE_INFINITY, maxRequests: Number.POSITIVE_INFINITY }

/** Number of pages without a new record after which a list counts as endless. */
const longestRunOfStalePages = 500

/**
 * Yields live records without duplicates, also deleted ones with `deleted`.
 * @throws CliError (exit 5) for another subject's record or an impossible deletion time: such a list is unusable
 */
export async function* recordsOf(
  api: Client,
  subjects: readonly string[],
  { deleted = false } = {},
): AsyncGenerator<readonly Consent[]> {
  const seen = new Set<string>()
  for (const subject of subjects) {
    const query: ConsentQuery = { subject_id: subject, ...(deleted && { include_deleted: true }) }
    let stalePages = 0
    for await (const { records } of api.pages(query, unlimited)) {
      stalePages = records.every(({ id }) => seen.has(id)) ? stalePages + 1 : 0
      if (stalePages > longestRunOfStalePages) throw new EndlessListError()
      requireSubject(subject, records)
      yield unseen(records, seen).filter(record => deleted || isLive(record))
    }
  }
}

export async function liveRecords(api: Client, subjects: readonly string[]): Promise<Consent[]> {
  const all: Consent[] = []
  for await (const page of recordsOf(api, subjects)) all.push(...page)
  return all
}

export function toTargets(subjects: readonly string[], records: readonly Consent[]): Target[] {
  const indexes = new Map(subjects.map((subject, index) => [subject, index]))
  return records.map(({ id, site_id, subject_id }) => ({
    id,
    site_id,
    subject: indexes.get(subject_id ?? '') ?? 0,
  }))
}

export function showsDeleted(
  api: Pick<Client, 'supports'>,
  endpoint: typeof consents.get | typeof consents.list = consents.list,
): Promise<boolean> {
  return api.supports(endpoint, { in: 'query', name: 'include_deleted' })
}

export function erasesSubjects(api: Pick<Client, 'supports'>): Promise<boolean> {
  return api.supports(subjectEndpoints.erase, { in: 'body', name: 'ids' })
}

export interface Holding {
  readonly live: readonly Target[]
  /** Deleted and not purged; null if not shown. */
  readonly deleted: number | null
}

/**
 * Previews the instance's own erasure, without quota.
 * @throws EndlessListError if a page does not continue the previous one
 */
export async function askForErasable(api: Client, subjects: readonly string[]): Promise<Holding> {
  const live: Target[] = []
  let allDeleted = 0
  for (const [subject, subject_id] of subjects.entries()) {
    let after: string | undefined
    for (let isLast = false; !isLast; ) {
      const body = { subject_id, dry_run: true, ...(after !== undefined && { after }) }
      const { records, deleted } = await api.call(subjectEndpoints.erase, { body })
      if (after === undefined) allDeleted += deleted
      for (const { id, site_id } of records) {
        if (after !== undefined && id <= after) throw new EndlessListError()
        live.push({ id, site_id, subject })
        after = id
      }
      isLast = records.length < erasedRecordsLimit
    }
  }
  return { live, deleted: allDeleted }
}

const lastId = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

/** Of the identifiers, the holds that keep their records. None if the caller may not ask, or the service cannot say. */
export async function findHoldsOf(api: Client, subjects: readonly string[]): Promise<HoldNotice[]> {
  if (!(await erasesSubjects(api))) return []
  const holds: HoldNotice[] = []
  for (const subject_id of subjects) {
    const body = { subject_id, dry_run: true, after: lastId }
    const answer = await api.call(subjectEndpoints.erase, { body }).catch((error: unknown) => {
      if (error instanceof ApiError && error.status === 403) return null
      throw error
    })
    if (answer?.held) holds.push(answer.held)
  }
  return holds
}

/**
 * HMAC in this account's certificates. Null if unknown, of another account, or if the receipt has several identifiers,
 * any of which its certificates may be about.
 */
export async function findSubjectHmac(
  api: Client,
  receipt: Pick<ErasureReceipt, 'records' | 'subject_hmacs' | 'account_id'>,
  { subject, account_id }: { readonly subject: string | undefined; readonly account_id: string | null },
): Promise<string | null> {
  const id = receipt.records[0]?.id
  const isComparable = receipt.subject_hmacs.length === 1 && account_id !== null && account_id === receipt.account_id
  if (!isComparable || subject === undefined || id === undefined || !(await erasesSubjects(api))) return null
  const body = { subject_id: subject, ids: [id], dry_run: true }
  return (await api.call(subjectEndpoints.erase, { body })).subject_hmac
}

/** Takes no quota if the service can preview its own erasure. @throws CliError quota_exceeded (exit 6) otherwise */
export async function findHolding(api: Client, subjects: readonly string[]): Promise<Holding> {
  return (await erasesSubjects(api)) ? await askForErasable(api, subjects) : await listHolding(api, subjects)
}

async function listHolding(api: Client, subjects: readonly string[]): Promise<Holding> {
  const isShown = await showsDeleted(api)
  const live: Target[] = []
  let deleted = 0
  for await (const page of recordsOf(api, subjects, { deleted: isShown })) {
    live.push(...toTargets(subjects, page.filter(isLive)))
    deleted += page.filter(record => record.deleted_at !== null).length
  }
  return { live, deleted: isShown ? deleted : null }
}

/** `unknown`: of another account, or without a trace. */
export type RecordState = 'live' | 'deleted' | 'unknown'

/** Returns `deleted` only if the record or its history shows that. @throws CallError */
export async function findStates(api: Client, ids: readonly string[]): Promise<Map<string, RecordState>> {
  const isShown = await showsDeleted(api, consents.get)
  const find = async (id: string): Promise<RecordState> => {
    const query = isShown ? { include_deleted: true } : {}
    const record = await orNull(api.consents.get({ params: { id }, query }))
    if (record !== null) return isLive(record) ? 'live' : 'deleted'
    const entry = (await orNull(api.consents.history({ params: { id } })))?.data.at(-1)
    return entry && [null, 'deleted', 'purged'].includes(entry.action) ? 'deleted' : 'unknown'
  }
  const states = new Map<string, RecordState>()
  const found = mapInOrder(ids, { concurrency: 8 }, async id => ({ id, state: await find(id) }))
  for await (const { id, state } of found) states.set(id, state)
  return states
}

/** @throws CallError */
export async function findLive(api: Client, ids: readonly string[]): Promise<Consent[]> {
  const live: Consent[] = []
  const found = mapInOrder(ids, { concurrency: 8 }, id => orNull(api.consents.get({ params: { id } })))
  for await (const record of found) if (record && isLive(record)) live.push(record)
  return live
}

async function orNull<T>(call: Promise<T>): Promise<T | null> {
  try {
    return await call
  } catch (error) {
    if (exitOf(error) === exit.notFound) return null
    throw error
  }
}

/** @throws CliError unexpected_answer (exit 5) for an impossible deletion time */
export function isLive({ id, created_at, deleted_at }: Consent): boolean {
  if (deleted_at === null) return true
  const [created, deleted] = [parseInstant(created_at), parseInstant(deleted_at)]
  if (deleted !== null && deleted >= Math.floor(created ?? deleted)) return false
  throw new CliError(
    'unexpected_answer',
    exit.rejected,
    `the instance returned an impossible deletion time for the record ${id}: "${deleted_at}"`,
    { hint: 'the record may still be live; report this to the operator of the instance' },
  )
}

/** Longer ids would make the journal unreadable. */
const longestId = 255

function requireSubject(subject: string, records: readonly Consent[]): void {
  const hint = 'nothing is done with such a list; report this to the operator of the instance'
  for (const { id, subject_id } of records) {
    const isUsable = id !== '' && !/^\.\.?$/.test(id) && id.isWellFormed() && id.length <= longestId
    if (isUsable && subject_id === subject) continue
    const message = isUsable
      ? `the instance lists the record ${id}, which is not of this subject`
      : `the instance lists a record whose id is "${id.toWellFormed().slice(0, longestId)}"`
    throw new CliError('wrong_subject', exit.rejected, message, { hint })
  }
}

export function countBySite(records: readonly { readonly site_id: string | null }[]): Map<string | null, number> {
  const counts = new Map<string | null, number>()
  for (const { site_id } of records) counts.set(site_id, (counts.get(site_id) ?? 0) + 1)
  return new Map([...counts].sort(([a], [b]) => ((a ?? '') < (b ?? '') ? -1 : 1)))
}

interface Known {
  readonly id: string
}

/** Compares ids and `formOf`; '' if nothing differs. */
export function describeDifferences<Item extends Known>(
  planned: readonly Item[],
  present: readonly Item[],
  formOf: (record: Item) => unknown,
): string {
  const now = new Map(present.map(record => [record.id, record]))
  const then = new Set(planned.map(({ id }) => id))
  const isChanged = (record: Item) => {
    const found = now.get(record.id)
    return found !== undefined && formOf(found) !== formOf(record)
  }
  return [
    describe(planned.filter(isChanged), 'changed'),
    describe(
      present.filter(({ id }) => !then.has(id)),
      'added',
    ),
    describe(
      planned.filter(({ id }) => !now.has(id)),
      'gone',
    ),
  ]
    .filter(text => text !== '')
    .join('; ')
}

function describe(records: readonly Known[], difference: string): string {
  if (records.length === 0) return ''
  const ids = records.slice(0, 3).map(({ id }) => id)
  return `${records.length} ${difference} (${ids.join(', ')}${records.length > 3 ? ', …' : ''})`
}

/** Not RFC 8785, which rejects lone surrogates that other instances may hold. */
export function sortedJson(record: unknown): string {
  const sorted = (_: string, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value
  return JSON.stringify(record, sorted)
}

/** Identifiers that differ only in case, surrounding blanks or Unicode form. */
export interface NearMatch {
  readonly given: string
  readonly subject_id: string
  readonly live: number
  readonly deleted: number
}

/** At most 100 for each identifier; null if not supported. */
export async function findNearMatches(api: Client, subjects: readonly string[]): Promise<NearMatch[] | null> {
  if (!(await api.supports(subjectEndpoints.nearMatches))) return null
  const found = new Map<string, NearMatch>()
  for (const given of subjects) {
    const { data } = await api.call(subjectEndpoints.nearMatches, { body: { subject_id: given }, isIdempotent: true })
    for (const match of data)
      if (!subjects.includes(match.subject_id) && !found.has(match.subject_id))
        found.set(match.subject_id, { given, ...match })
  }
  return [...found.values()]
}

export interface SealedProof extends Omit<SealedProofs['data'][number], 'answers'> {
  readonly subject_id: string
}

/** At most 1,000 for each identifier; null if not supported. */
export async function findSealedProofs(
  api: Pick<Client, 'call' | 'supports'>,
  subjects: readonly string[],
): Promise<SealedProof[] | null> {
  if (!(await api.supports(subjectEndpoints.sealed))) return null
  const proofs: SealedProof[] = []
  for (const subject_id of subjects) {
    const { data } = await api.call(subjectEndpoints.sealed, { body: { subject_id }, isIdempotent: true })
    proofs.push(...data.map(proof => ({ ...proof, subject_id })))
  }
  return proofs
}

type KeptProofs = NonNullable<ErasureReceipt['verification']['sealed_proofs']>

/** By site and basis, with the latest end. */
export function groupProofs(proofs: readonly SealedProof[]): KeptProofs {
  const groups = new Map<string, KeptProofs[number]>()
  for (const { site_id, basis, until } of proofs) {
    const key = JSON.stringify([site_id, basis])
    const { proofs: count, until: last } = groups.get(key) ?? { proofs: 0, until }
    groups.set(key, { site_id, basis, until: until > last ? until : last, proofs: count + 1 })
  }
  return [...groups].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, group]) => group)
}

/** Null also if the key may not read. */
export async function countNearMatches(api: Client, subjects: readonly string[]): Promise<number | null> {
  return (await unlessForbidden(findNearMatches(api, subjects)))?.length ?? null
}

export async function unlessForbidden<T>(call: Promise<T>): Promise<T | null> {
  try {
    return await call
  } catch (error) {
    if (explain(error).code === 'forbidden') return null
    throw error
  }
}

/** Sends at most `erasedRecordsLimit` ids. */
export type AskForPurge = (ids: readonly string[]) => Promise<PurgeAnswer>

export function askForPurged(api: Client): AskForPurge {
  return ids => api.call(subjectEndpoints.certifyPurge, { body: { ids: [...ids] }, isIdempotent: true })
}

/** Repeats until the purge is complete, or nothing more is purged. */
export function orderPurge(api: Client): AskForPurge {
  return async ids => {
    for (let left = Number.POSITIVE_INFINITY; ; ) {
      const answer = await api.call(subjectEndpoints.purge, { body: { ids: [...ids] } })
      const deleted = answer.records.filter(({ state }) => state === 'deleted').length
      if (answer.complete || deleted >= left) return answer
      left = deleted
    }
  }
}

export async function previewPurge(api: Client, ids: readonly string[]): Promise<Map<string, string>> {
  const states = new Map<string, string>()
  for (let start = 0; start < ids.length; start += erasedRecordsLimit) {
    const body = { ids: ids.slice(start, start + erasedRecordsLimit), dry_run: true }
    const { records } = await api.call(subjectEndpoints.purge, { body })
    for (const { id, state } of records) states.set(id, state)
  }
  return states
}
