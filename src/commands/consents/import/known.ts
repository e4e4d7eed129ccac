import type { Event } from './journal.ts'

/** A line of the file that was sent: its record's id, or since when it is unknown whether there is one. */
export interface Known {
  readonly line: number
  readonly id: string | null
  /** Milliseconds since 1970. */
  readonly since: number
}

/** What earlier runs know of the lines of a job. */
export interface EarlierRuns {
  /** Null for a line that was not sent, or certainly failed. To be called in the order of the lines. */
  past(line: number): Promise<Known | null>
  close(): Promise<void>
}

/**
 * `events` reads all events from the beginning, each time. A run sends lines in their order, so an event of a line behind
 * the last one sent is of a line sent again by a later run. Those are held in memory, up to 100,000 at a time; all others
 * are read along with the lines of the file, so memory does not grow with their number.
 */
export function readEarlierRuns(events: () => AsyncIterable<Event>): EarlierRuns {
  const first = firstSends(events())
  let resent: Resent | null = null
  let next: IteratorResult<Known> | undefined
  return {
    past: async line => {
      if (!resent || line > resent.to) resent = await readResent(events(), line)
      next ??= await first.next()
      while (!next.done && next.value.line < line) next = await first.next()
      const older = next.done || next.value.line !== line ? null : next.value
      const newer = resent.lines.get(line) ?? null
      return newer?.id ? newer : (older ?? newer) // if it is unknown it is so since it was sent first
    },
    close: async () => void (await first.return(undefined)),
  }
}

/** No more lines than these are in flight at once. */
export const linesAtOnce = 4000

/** No more lines than these are noted without a result: those in flight, and a request or two noted ahead. */
const mostOpen = 2 * linesAtOnce

/** Yields what came of the lines when they were sent first, in their order. */
async function* firstSends(events: AsyncIterable<Event>): AsyncGenerator<Known> {
  const window = new Map<number, Known>()
  let last = 0
  for await (const [kind, line, what] of events) {
    if (kind === 's') {
      if (line <= last) continue
      last = line
      window.set(line, { line, id: null, since: what })
    } else if (window.has(line)) settle(window, line, kind, what)
    if (window.size <= mostOpen) continue
    const [oldest] = window.values()
    if (!oldest) continue
    window.delete(oldest.line)
    yield oldest
  }
  yield* window.values()
}

/** Takes a result into account. */
function settle(lines: Map<number, Known>, line: number, kind: Event[0], what: unknown): void {
  if (kind === 'f') lines.delete(line)
  else if (kind === 'd') lines.set(line, { line, id: String(what), since: 0 })
}

/** What is known of lines that later runs sent again, of those up to the line `to`. */
interface Resent {
  readonly lines: ReadonlyMap<number, Known>
  readonly to: number
}

const mostResent = 100_000

async function readResent(events: AsyncIterable<Event>, from: number): Promise<Resent> {
  const lines = new Map<number, Known>()
  let [last, to] = [0, Number.POSITIVE_INFINITY]
  for await (const [kind, line, what] of events) {
    if (kind !== 's') {
      if (lines.has(line)) settle(lines, line, kind, what)
    } else if (line > last) last = line
    else if (line >= from && line <= to && !lines.has(line)) lines.set(line, { line, id: null, since: what })
    if (lines.size <= 2 * mostResent) continue
    const inOrder = [...lines.keys()].sort((a, b) => a - b)
    for (const beyond of inOrder.slice(mostResent)) lines.delete(beyond)
    to = inOrder[mostResent - 1] ?? to
  }
  return { lines, to }
}
