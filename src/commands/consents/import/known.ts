import type { Run } from '../../../jobs/runs.ts'
import type { BulkJournals, Event } from './journal.ts'

/** A line of the file that was sent: its record's id, or since when it is unknown whether there is one. */
export interface Known {
  readonly line: number
  readonly id: string | null
  /** Milliseconds since 1970. */
  readonly since: number
}

/** What a run's journal knows of the lines that were sent and did not fail, in their order. Memory does not grow with it. */
export async function* known(journals: BulkJournals, run: Run): AsyncGenerator<Known> {
  const [before, since] = [settled(journals.before(run)), settled(journals.since(run))]
  try {
    let [older, newer] = [await before.next(), await since.next()]
    while (!older.done || !newer.done) {
      const order = older.done ? 1 : newer.done ? -1 : older.value.line - newer.value.line
      if (!older.done && !newer.done && order === 0) yield later(older.value, newer.value)
      else if (order < 0 && !older.done) yield older.value
      else if (!newer.done) yield newer.value
      if (order <= 0) older = await before.next()
      if (order >= 0) newer = await since.next()
    }
  } finally {
    await Promise.all([before.return(undefined), since.return(undefined)])
  }
}

/** A line that is sent again is unknown since the first time. */
function later(older: Known, newer: Known): Known {
  return newer.id === null ? { ...newer, since: Math.min(older.since, newer.since) } : newer
}

/** No more lines than these are under way at once: so much must be held of them, and of a journal to put it in order. */
export const linesAtOnce = 4000

/** No more lines than these are noted and not settled at once: those under way, and a request or two noted before its turn. */
const mostOpen = 2 * linesAtOnce

/** Events as what they come to. Lines are noted in their order, and each is settled before so many after it are noted. */
export async function* settled(log: AsyncIterable<Event>): AsyncGenerator<Known> {
  const latest = new Map<number, Known>()
  for await (const [kind, line, what] of log) {
    if (kind === 'f') latest.delete(line)
    else if (kind === 's') latest.set(line, { line, id: null, since: what })
    else if (kind === 'd') latest.set(line, { line, id: what, since: 0 })
    if (latest.size <= mostOpen) continue
    const [first] = latest.values()
    if (!first) continue
    latest.delete(first.line)
    yield first
  }
  yield* latest.values()
}
