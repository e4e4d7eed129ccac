import type { Sql } from 'postgres'
import * as z from 'zod'
import { type Event, type EventPage, type EventQuery, parseInstant } from '../../src/contract/index.ts'
import { type Reach, reaches } from '../db/reach.ts'
import { placeEntries, requestMs } from '../evidence/log.ts'
import { Failure } from '../failure.ts'
import { type EventRow, findNewestPosition, findPositionBefore, listEventRows } from './queries.ts'

const defaultLimit = 100

/**
 * Reads `limit` positions, of which a caller of some sites gets those of their records.
 * @throws Failure `invalid_request` for two of a position, a time and `newest`; `conflict` for a position that the log has lost
 */
export async function getEvents(sql: Sql, reach: Reach, query: EventQuery): Promise<EventPage> {
  const start = await findStart(sql, reach.accountId, query)
  const rows = await listEventRows(sql, reach.accountId, start, query.limit ?? defaultLimit)
  if (rows.length === 0 && start !== null && query.after !== undefined)
    await requirePosition(sql, reach.accountId, start)
  const reached = reach.siteIds === null ? rows : rows.filter(({ site_id }) => site_id && reaches(reach, site_id))
  return {
    data: reached.map(row => toEvent(reach.accountId, row)),
    next_after: rows.at(-1)?.position ?? start,
  }
}

export function toEvent(accountId: string, row: EventRow): Event {
  return row.record_id === accountId ? toAccountEvent(row) : toRecordEvent(row)
}

async function findStart(sql: Sql, accountId: string, { after, from, newest }: EventQuery): Promise<number | null> {
  if ([after, from, newest || undefined].filter(start => start !== undefined).length > 1)
    throw new Failure('invalid_request', 'after, from and newest exclude each other.')
  if (from !== undefined) return await findPositionBefore(sql, accountId, parseInstant(from) ?? 0)
  if (!newest) return after ?? null
  const placed = await placeEntries({ sql, signal: AbortSignal.timeout(requestMs) }, accountId)
  if (placed) return placed.size > 0 ? placed.size - 1 : null
  return await findNewestPosition(sql, accountId)
}

/** A log that was restored from a backup may have lost its last positions, and give them to other entries. */
async function requirePosition(sql: Sql, accountId: string, after: number): Promise<void> {
  const newest = (await findNewestPosition(sql, accountId)) ?? -1
  if (after > newest)
    throw new Failure('conflict', `The log ends at the position ${newest}, before ${after}: it lost events.`)
}

function toRecordEvent(row: EventRow): Event {
  const isKnown = row.is_stripped === false && row.action !== 'purged'
  const purposes = isKnown ? findChanged(row.preferences_before ?? {}, row.preferences ?? {}) : null
  return {
    position: row.position,
    hash: row.hash,
    type: typeOf(row, purposes),
    at: row.created_at?.toISOString() ?? null,
    record_id: row.record_id,
    version: row.version,
    site_id: row.site_id,
    accepted: row.accepted,
    purposes,
    actor_kind: row.changed_by,
    target: null,
  }
}

type Purposes = NonNullable<Event['purposes']>

function typeOf({ action, erased, accepted, accepted_before }: EventRow, purposes: Purposes | null): string {
  if (action === null) return 'unreadable'
  if (action === 'deleted') return erased ? 'erased' : 'deleted'
  if (action === 'restored_despite_erasure') return 'restored'
  if (action !== 'updated') return action
  const isOff = Object.values(purposes ?? {}).some(([before, after]) => before === true && after !== true)
  return isOff || (accepted_before === true && accepted === false) ? 'withdrawn' : 'updated'
}

/** Only of what is true or false: a preference with another value may be about a person. */
function findChanged(before: Readonly<Record<string, unknown>>, after: Readonly<Record<string, unknown>>): Purposes {
  const read = (values: Readonly<Record<string, unknown>>, key: string) => {
    const value = Object.hasOwn(values, key) ? values[key] : null
    return typeof value === 'boolean' ? value : null
  }
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])]
  const changed = keys.map(key => [key, [read(before, key), read(after, key)]] as const)
  return Object.fromEntries(changed.filter(([, [old, now]]) => old !== now)) as Purposes
}

function toAccountEvent({ position, hash, version, document }: EventRow): Event {
  const entry = readEntry(document ?? '')
  return {
    ...{ position, hash, record_id: null, version, site_id: null, accepted: null, purposes: null },
    type: entry ? `account.${entry.action}` : 'unreadable',
    at: entry?.at ?? null,
    actor_kind: entry?.actor ?? null,
    target: entry?.target ?? null,
  }
}

const Entry = z.object({
  action: z.string(),
  at: z.string(),
  actor: z.object({ kind: z.string() }),
  target: z.object({ kind: z.string(), id: z.string() }),
})

/** Null if it was changed. */
function readEntry(document: string) {
  try {
    const { action, at, actor, target } = Entry.parse(JSON.parse(document))
    return { action, at: new Date(at).toISOString(), actor: actor.kind, target: { kind: target.kind, id: target.id } }
  } catch {
    return null
  }
}
