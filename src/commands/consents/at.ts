import { pastInstant } from '../../cli/time.ts'
import type { Context } from '../../context.ts'
import { consents } from '../../contract/consents.ts'
import type { AuditEntry, Consent, ConsentQuery } from '../../contract/index.ts'
import { parseInstant } from '../../contract/values.ts'
import { showsDeleted } from '../../erasure/records.ts'
import { CliError, exit } from '../../errors/errors.ts'
import { exitOf } from '../../errors/explain.ts'
import { report } from '../../errors/report.ts'
import { mapInOrder } from '../../io/concurrency.ts'
import type { ConsentRow } from '../../views/consent.ts'

/** State of a record at an instant, by its history. */
interface StateAt {
  /** Last entry until the instant. */
  readonly entry: AuditEntry
  /** Of the record then: when its person last answered by the word of the importer, and the signal of the last answer. */
  readonly facts: Facts
  /** Time of the deletion, if an entry until the instant says so. */
  readonly deletedAt: string | null
  /** True if the entry may be the deletion itself: it is the last, and the instance does not name actions. */
  readonly mayBeDeleted: boolean
}

/**
 * Returns the state of a record at an instant (milliseconds since 1970), null before its first entry. An imported entry counts
 * from when the person answered, by the word of the importer.
 *
 * @throws CliError for a time that cannot be parsed
 */
export function stateAt(entries: readonly AuditEntry[], instant: number): StateAt | null {
  const ordered = oldestFirst(entries)
  const until = ordered.filter(({ given_at, created_at }) => timeOf(given_at ?? created_at) <= instant)
  const entry = until.at(-1)
  if (!entry) return null
  return {
    entry,
    facts: factsIn(until),
    deletedAt: deletionIn(until),
    mayBeDeleted: entry.action === null && until.length === ordered.length,
  }
}

type Facts = Pick<Consent, 'given_at' | 'gpc'>

const answers = ['created', 'imported', 'updated']

function factsIn(entries: readonly AuditEntry[]): Facts {
  const given_at = entries.findLast(entry => entry.given_at !== undefined)?.given_at
  const isSignalled = entries.findLast(({ action }) => answers.includes(action ?? ''))?.gpc
  return { ...(given_at !== undefined && { given_at }), ...(isSignalled && { gpc: true }) }
}

/** Returns the time of the purge; null if no entry is one. */
function purgedAt(entries: readonly AuditEntry[]): string | null {
  return entries.find(({ action }) => action === 'purged')?.created_at ?? null
}

/** Sorts entries by time. The specification does not define their order; of equal times, the order of the response decides. */
export function oldestFirst(entries: readonly AuditEntry[]): readonly AuditEntry[] {
  const [first, last] = [entries[0], entries.at(-1)]
  if (!first || !last || first === last) return entries
  const span = timeOf(last.created_at) - timeOf(first.created_at)
  const isNewestFirst = span < 0 || (span === 0 && last.action === 'created')
  const given = isNewestFirst ? [...entries].reverse() : [...entries]
  return given.sort((a, b) => timeOf(a.created_at) - timeOf(b.created_at))
}

/** Parses a time of the instance to milliseconds since 1970. @throws CliError */
export function timeOf(instant: string): number {
  const time = parseInstant(instant)
  if (time !== null) return time
  const message = `the instance has the time "${instant}", which cannot be parsed`
  throw new CliError('unreadable_time', exit.failure, message, {
    hint: 'consentctl history shows the entries as they are',
  })
}

/** Returns the time of the last deletion, null if a restore came after it. A purge without a deletion counts as one. */
function deletionIn(entries: readonly AuditEntry[]): string | null {
  const ends = entries.slice(entries.findLastIndex(({ action }) => action?.startsWith('restored')) + 1)
  return ends.find(({ action }) => action === 'deleted' || action === 'purged')?.created_at ?? null
}

/** Value of `--at`. */
export interface At {
  /** RFC 3339. */
  readonly text: string
  /** Milliseconds since 1970. */
  readonly instant: number
  /** True to show records that were deleted by then. */
  readonly includeDeleted: boolean
}

/** A record as it was, with warnings about it; or why there is none. */
type Moment =
  | { readonly row: ConsentRow; readonly word: NonNullable<ConsentRow['word']>; readonly notes: readonly string[] }
  | { readonly absent: 'not yet' | 'deleted' | 'unknown'; readonly why: string }

type State = Pick<Required<ConsentRow>, 'accepted' | 'preferences' | 'policy_version' | 'updated_at'>

/**
 * Returns a record as it was. `record` is its present state, for the fields that never change; null if the instance does not show it
 * any more.
 */
function momentOf(id: string, record: Consent | null, entries: readonly AuditEntry[], at: At): Moment {
  const absent = absence(record, entries, at)
  if (absent) return absent
  const past = stateAt(entries, at.instant)
  const state = past ? stateOf(past.entry) : entries.length === 0 ? unchanged(record, at) : null
  if (!state) return { absent: 'unknown', why: describeStart(entries) }
  const purged = purgedAt(entries)
  const notes: string[] = []
  if (!record) notes.push(`${id}${past?.mayBeDeleted ? unknownEnd : onlyHistory}`)
  if (purged) notes.push(`${id} was purged at ${purged}: its preferences, and whose it was, are gone`)
  const preferences = purged ? null : state.preferences // {} would mean that there were none
  const deleted_at = deletion(record, entries, at)
  const word = isImportersWord(past?.entry, at) ? 'importer' : 'service'
  if (word === 'importer' && past) notes.push(describeImporter(id, record, past.entry))
  const { given_at: _, gpc: __, ...unchanging } = record ?? fromHistory(id, entries)
  return { row: { ...unchanging, ...state, preferences, deleted_at, ...past?.facts }, word, notes }
}

/** True if the entry was imported after the instant, so that the service has seen nothing of the state. */
function isImportersWord(entry: AuditEntry | undefined, at: At): boolean {
  return entry !== undefined && timeOf(entry.created_at) > at.instant
}

function describeImporter(id: string, record: Consent | null, { created_at }: AuditEntry): string {
  const system = record?.origin ? ` from ${record.origin.system}` : ''
  return `${id} was imported${system} at ${created_at}: what it was before that is the importer’s word`
}

const onlyHistory = ' is deleted now, and this instance shows no deleted record: only its history tells of it'
const unknownEnd = `${onlyHistory}, and not when it was deleted, which may have been by then`

/** Returns the reason if the record did not exist yet, or was deleted. */
function absence(record: Consent | null, entries: readonly AuditEntry[], at: At): Moment | null {
  const [first] = oldestFirst(entries)
  const created = first?.given_at ?? (first?.action === 'created' ? first.created_at : record?.created_at)
  if (created !== undefined && timeOf(created) > at.instant)
    return {
      absent: 'not yet',
      why: first?.given_at ? `its first answer is of ${created}` : `it was created at ${created}`,
    }
  const deleted = at.includeDeleted ? null : deletion(record, entries, at)
  return deleted === null ? null : { absent: 'deleted', why: `deleted at ${deleted}` }
}

/** Returns the time of the deletion, if the record was deleted by then. */
function deletion(record: Consent | null, entries: readonly AuditEntry[], at: At): string | null {
  const now = record?.deleted_at ?? null
  const isBefore = now !== null && timeOf(now) <= at.instant
  return stateAt(entries, at.instant)?.deletedAt ?? (isBefore ? now : null)
}

function stateOf({ accepted, preferences, policy_version, created_at }: AuditEntry): State {
  return { accepted, preferences, policy_version, updated_at: created_at }
}

/** Returns the state of a record without history: its present one, if it has not changed since. */
function unchanged(record: Consent | null, at: At): State | null {
  if (!record) return null
  const { accepted, preferences, policy_version, created_at, updated_at, deleted_at } = record
  const isSince = updated_at === null || timeOf(updated_at) <= at.instant
  if (!isSince && updated_at !== deleted_at) return null
  return { accepted, preferences, policy_version, updated_at: isSince ? updated_at : created_at }
}

function describeStart(entries: readonly AuditEntry[]): string {
  const [first] = oldestFirst(entries)
  return first ? `its history begins at ${first.created_at}` : 'it has no history'
}

/** Returns a record of which only the history is left. */
function fromHistory(id: string, entries: readonly AuditEntry[]): ConsentRow {
  const [first] = oldestFirst(entries)
  return {
    id,
    site_id: null,
    consent_id: null,
    subject_id: null,
    country: null,
    region: null,
    user_agent: null,
    accepted: null,
    preferences: null,
    policy_version: null,
    created_at: first?.action === 'created' || first?.action === 'imported' ? first.created_at : null,
    updated_at: null,
    deleted_at: null,
  }
}

/** Parses `--at`. @throws UsageError for an instant in the future */
export async function readAt(ctx: Context, flag: string, includeDeleted: boolean | undefined): Promise<At> {
  const text = pastInstant(flag, new Date())
  if (ctx.globals.verbose) await ctx.warn(`* --at ${text}`)
  return { text, instant: parseInstant(text) ?? 0, includeDeleted: includeDeleted ?? false }
}

/** Returns a record as it was, and whose word that is. @throws CliError if it did not exist then, or its state is unknown */
export async function getAt(ctx: Context, id: string, at: At): Promise<ConsentRow> {
  const moment = await readMoment(ctx, id, null, at)
  if ('row' in moment) {
    for (const note of moment.notes) await ctx.warn(`warning: ${note}`)
    return { ...moment.row, word: moment.word }
  }
  if (moment.absent === 'unknown') throw unknownError(id, at, moment.why)
  const hint = moment.absent === 'deleted' ? { hint: '--include-deleted shows it' } : {}
  throw new CliError('not_found', exit.notFound, `no consent with id ${id} at ${at.text}: ${moment.why}`, hint)
}

function unknownError(id: string, at: At, why: string): CliError {
  return new CliError('untold', exit.notFound, `the state of ${id} at ${at.text} is unknown: ${why}`)
}

/** Reads the history and returns the record as it was. `listed` is the record, if it comes from a list. */
async function readMoment(ctx: Context, id: string, listed: Consent | null, at: At): Promise<Moment> {
  const { data } = await ctx.api.consents.history({ params: { id } })
  const absent = absence(listed, data, at)
  return absent ?? momentOf(id, listed ?? (await findRecord(ctx, id)), data, at)
}

/** Returns a record, deleted or not; null if the instance does not show it any more. */
async function findRecord(ctx: Context, id: string): Promise<Consent | null> {
  const get = (query: { include_deleted?: boolean }) =>
    ctx.api.consents.get({ params: { id }, query }).catch((error: unknown) => {
      if (exitOf(error) === exit.notFound) return null
      throw error
    })
  return (await get({})) ?? ((await showsDeleted(ctx.api, consents.get)) ? await get({ include_deleted: true }) : null)
}

/** Histories that are fetched at once. */
const concurrency = 8

interface PageAt {
  readonly records: readonly ConsentRow[]
  /** Cursor of the next page; null after the last. */
  readonly next: string | null
  /** Number of records whose state is unknown. */
  readonly unknown: number
}

/**
 * Lists records as they were, page by page. A page is no larger than the remaining limits of records and requests, so that its
 * cursor leaves no gap. `accepted` filters by the past state.
 */
export async function* pagesAt(
  ctx: Context,
  { accepted, ...query }: ConsentQuery,
  at: At,
  { limit, maxRequests }: { readonly limit: number; readonly maxRequests: number },
): AsyncGenerator<PageAt> {
  const all = await showsDeleted(ctx.api, consents.list)
  if (!all) await ctx.warn('warning: this instance lists no deleted records: those deleted since are missing')
  let { cursor } = query
  let [left, requests] = [limit, maxRequests - 1]
  while (left > 0 && requests > 1) {
    const size = Math.min(left, requests - 1)
    const asked = { ...query, cursor, include_deleted: all || undefined }
    for await (const page of ctx.api.pages(asked, { limit: size, maxRequests: 1 })) {
      const { rows, histories, unknown } = await rowsOf(ctx, page.records, at)
      const records = rows.filter(row => accepted === undefined || row.accepted === accepted)
      yield { records, unknown, next: page.next }
      if (page.next === null) return
      left -= records.length
      requests -= 1 + histories
      cursor = page.next
    }
  }
}

/** Returns the records of a page as they were, in order, without those that did not exist. */
async function rowsOf(ctx: Context, records: readonly Consent[], at: At) {
  const candidates = records.filter(record => absence(record, [], at) === null)
  const rows: ConsentRow[] = []
  let unknown = 0
  const read = async (record: Consent) => ({ record, moment: await readMoment(ctx, record.id, record, at) })
  for await (const { record, moment } of mapInOrder(candidates, { concurrency }, read)) {
    if ('row' in moment) {
      for (const note of moment.notes) await ctx.warn(`warning: ${note}`)
      rows.push(moment.row)
    } else if (moment.absent === 'unknown') {
      unknown += 1
      await report(ctx, unknownError(record.id, at, moment.why))
    }
  }
  return { rows, histories: candidates.length, unknown }
}
