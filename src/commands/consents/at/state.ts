import type { AuditEntry } from '../../../contract/index.ts'
import { parseInstant } from '../../../contract/values.ts'
import { CliError } from '../../../errors/errors.ts'
import { exit } from '../../../errors/exit.ts'

/** What a history tells of its record at an instant. */
export interface StateAt {
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
export function purgedAt(entries: readonly AuditEntry[]): string | null {
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
