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

/** What a history tells of its record at an instant. */
interface StateAt {
  /** The last entry until then: it has been so since that. */
  readonly entry: AuditEntry
  /** When it was deleted, if an entry until then says so. */
  readonly deletedAt: string | null
  /** Whether that entry may be the deletion itself: of an instance that tells no actions, and nothing comes after it. */
  readonly mayBeDeleted: boolean
}

/**
 * The state of a record at an instant, in milliseconds since 1970, from its entries; each of these is the state after an
 * event. Null before the first. Throws a CliError for a time that cannot be compared.
 */
export function stateAt(entries: readonly AuditEntry[], instant: number): StateAt | null {
  const ordered = oldestFirst(entries)
  const until = ordered.filter(({ created_at }) => timeOf(created_at) <= instant)
  const entry = until.at(-1)
  if (!entry) return null
  return {
    entry,
    deletedAt: until.find(isEnd)?.created_at ?? null,
    mayBeDeleted: entry.action === null && until.length === ordered.length,
  }
}

/** When a record was purged; null where no entry says so. */
function purgedAt(entries: readonly AuditEntry[]): string | null {
  return entries.find(({ action }) => action === 'purged')?.created_at ?? null
}

/**
 * Entries by time. The specification leaves it open in which order they come; of those of the same instant that order
 * still tells which was first.
 */
export function oldestFirst(entries: readonly AuditEntry[]): readonly AuditEntry[] {
  const [first, last] = [entries[0], entries.at(-1)]
  if (!first || !last || first === last) return entries
  const span = timeOf(last.created_at) - timeOf(first.created_at)
  const isNewestFirst = span < 0 || (span === 0 && last.action === 'created')
  const given = isNewestFirst ? [...entries].reverse() : [...entries]
  return given.sort((a, b) => timeOf(a.created_at) - timeOf(b.created_at))
}

/** A time that an instance has noted, in milliseconds since 1970. */
export function timeOf(instant: string): number {
  const time = parseInstant(instant)
  if (time !== null) return time
  const message = `the instance has noted the time "${instant}", which cannot be compared with another`
  throw new CliError('unreadable_time', exit.failure, message, {
    hint: 'consentctl history shows the states as it has them',
  })
}

function isEnd({ action }: AuditEntry): boolean {
  return action === 'deleted' || action === 'purged'
}

/** The instant that is asked about. */
export interface At {
  /** As RFC 3339, and in milliseconds since 1970. */
  readonly text: string
  readonly instant: number
  /** Whether a record is shown that was deleted by then. */
  readonly includeDeleted: boolean
}

/** A record as it was, and what must be said of it; or why there is none. */
type Moment =
  | { readonly row: ConsentRow; readonly notes: readonly string[] }
  | { readonly absent: 'not yet' | 'deleted' | 'untold'; readonly why: string }

type State = Pick<Required<ConsentRow>, 'accepted' | 'preferences' | 'policy_version' | 'updated_at'>

/**
 * A record as it was at an instant. `record` is what is known of it now, for the fields that never change; null where the
 * instance shows it no more.
 */
function momentOf(id: string, record: Consent | null, entries: readonly AuditEntry[], at: At): Moment {
  const absent = absence(record, entries, at)
  if (absent) return absent
  const known = stateAt(entries, at.instant)
  const state = known ? stateOf(known.entry) : entries.length === 0 ? unchanged(record, at) : null
  if (!state) return { absent: 'untold', why: begins(entries) }
  const purged = purgedAt(entries)
  const notes = []
  if (!record) notes.push(`${id}${known?.mayBeDeleted ? unknownEnd : onlyHistory}`)
  if (purged) notes.push(`${id} was purged at ${purged}: its preferences, and whose it was, are gone`)
  const preferences = purged ? null : state.preferences // {} would say that there were none
  const deleted_at = deletion(record, entries, at)
  return { row: { ...(record ?? unseen(id, entries)), ...state, preferences, deleted_at }, notes }
}

const onlyHistory = ' is deleted now, and this instance shows no deleted record: only its history tells of it'
const unknownEnd = `${onlyHistory}, and not when it was deleted, which may have been by then`

/** Why nothing is shown, where that can be told: it was not there yet, or no more. */
function absence(record: Consent | null, entries: readonly AuditEntry[], at: At): Moment | null {
  const [first] = oldestFirst(entries)
  const created = first?.action === 'created' ? first.created_at : record?.created_at
  if (created !== undefined && timeOf(created) > at.instant)
    return { absent: 'not yet', why: `it was created at ${created}` }
  const deleted = at.includeDeleted ? null : deletion(record, entries, at)
  return deleted === null ? null : { absent: 'deleted', why: `deleted at ${deleted}` }
}

/** When it was deleted, if it was by then. */
function deletion(record: Consent | null, entries: readonly AuditEntry[], at: At): string | null {
  const now = record?.deleted_at ?? null
  const isBefore = now !== null && timeOf(now) <= at.instant
  return stateAt(entries, at.instant)?.deletedAt ?? (isBefore ? now : null)
}

function stateOf({ accepted, preferences, policy_version, created_at }: AuditEntry): State {
  return { accepted, preferences, policy_version, updated_at: created_at }
}

/** The state of a record that has no history: the one it has, if it has had that since. */
function unchanged(record: Consent | null, at: At): State | null {
  if (!record) return null
  const { accepted, preferences, policy_version, created_at, updated_at, deleted_at } = record
  const isSince = updated_at === null || timeOf(updated_at) <= at.instant
  if (!isSince && updated_at !== deleted_at) return null
  return { accepted, preferences, policy_version, updated_at: isSince ? updated_at : created_at }
}

function begins(entries: readonly AuditEntry[]): string {
  const [first] = oldestFirst(entries)
  return first ? `its history begins at ${first.created_at}` : 'it has no history'
}

/** A record that only its history tells of. */
function unseen(id: string, entries: readonly AuditEntry[]): ConsentRow {
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
    created_at: first?.action === 'created' ? first.created_at : null,
    updated_at: null,
    deleted_at: null,
  }
}

/** The instant of `--at`; with --verbose it is told what it became. Throws a usage error for one that is not over. */
export async function atOf(ctx: Context, flag: string, includeDeleted: boolean | undefined): Promise<At> {
  const text = pastInstant(flag, new Date())
  if (ctx.globals.verbose) await ctx.warn(`* --at ${text}`)
  return { text, instant: parseInstant(text) ?? 0, includeDeleted: includeDeleted ?? false }
}

/** A record by its id as it was. Throws where it was not there, or how it was cannot be told. */
export async function getAt(ctx: Context, id: string, at: At): Promise<ConsentRow> {
  const moment = await readMoment(ctx, id, null, at)
  if ('row' in moment) {
    for (const note of moment.notes) await ctx.warn(`warning: ${note}`)
    return moment.row
  }
  if (moment.absent === 'untold') throw untoldError(id, at, moment.why)
  const hint = moment.absent === 'deleted' ? { hint: '--include-deleted shows it' } : {}
  throw new CliError(
    'not_found',
    exit.notFound,
    `no consent with id ${id} at ${at.text}: ${moment.why}`,
    hint,
  )
}

function untoldError(id: string, at: At, why: string): CliError {
  return new CliError('untold', exit.notFound, `how ${id} was at ${at.text} cannot be told: ${why}`)
}

/** A record as it was, from its history; `listed` is the record where a list has shown it. */
async function readMoment(ctx: Context, id: string, listed: Consent | null, at: At): Promise<Moment> {
  const { data } = await ctx.api.consents.history({ params: { id } })
  const absent = absence(listed, data, at)
  return absent ?? momentOf(id, listed ?? (await findRecord(ctx, id)), data, at)
}

/** A record, deleted or not; null where the instance shows it no more. */
async function findRecord(ctx: Context, id: string): Promise<Consent | null> {
  const get = (query: { include_deleted?: boolean }) =>
    ctx.api.consents.get({ params: { id }, query }).catch((error: unknown) => {
      if (exitOf(error) === exit.notFound) return null
      throw error
    })
  return (
    (await get({})) ??
    ((await showsDeleted(ctx.api, consents.get)) ? await get({ include_deleted: true }) : null)
  )
}

/** How many histories are asked for at once. */
const atOnce = 8

interface PageAt {
  readonly records: readonly ConsentRow[]
  /** Where the walk goes on after this page; null when there is no more. */
  readonly next: string | null
  /** How many records there were of which nothing can be told. */
  readonly untold: number
}

/**
 * The pages of a list as its records were. A page has no more records than may still be shown, and their histories still
 * be asked for, so that its cursor goes on without a gap. `accepted` is about the state then.
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
      const { rows, histories, untold } = await rowsOf(ctx, page.records, at)
      const records = rows.filter(row => accepted === undefined || row.accepted === accepted)
      yield { records, untold, next: page.next }
      if (page.next === null) return
      left -= records.length
      requests -= 1 + histories
      cursor = page.next
    }
  }
}

/** The records of a page as they were, in their order, without those that were not there. */
async function rowsOf(ctx: Context, records: readonly Consent[], at: At) {
  const candidates = records.filter(record => absence(record, [], at) === null)
  const rows: ConsentRow[] = []
  let untold = 0
  const read = async (record: Consent) => ({ record, moment: await readMoment(ctx, record.id, record, at) })
  for await (const { record, moment } of mapInOrder(candidates, { concurrency: atOnce }, read)) {
    if ('row' in moment) {
      for (const note of moment.notes) await ctx.warn(`warning: ${note}`)
      rows.push(moment.row)
    } else if (moment.absent === 'untold') {
      untold += 1
      await report(ctx, untoldError(record.id, at, moment.why))
    }
  }
  return { rows, histories: candidates.length, untold }
}
