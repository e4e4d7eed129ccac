import { parse, v5 } from 'uuid'
import type { HeldJob } from '../../../jobs/jobs.ts'

/**
 * `s`: about to be sent (Unix time in ms); `d`: done (record id, and how unless simply done); `f`: failed (code); `u`: unknown.
 */
export type Event =
  | readonly ['s', line: number, at: number]
  | readonly ['d', line: number, id: string, how?: How]
  | readonly ['f', line: number, code: string]
  | readonly ['u', line: number]

/** `unchanged`: already as wanted. `unanswered`: the response was lost, but the record shows that it was done. */
export type How = 'unchanged' | 'unanswered'

export interface SentLine {
  readonly line: number
  /** Id of the record; null if it may or may not have been created. */
  readonly id: string | null
  readonly how?: How
  /** Unix time of the first send, in milliseconds. */
  readonly sentAt: number
}

export interface JobState {
  readonly job: string
  readonly isResumed: boolean
  /** Idempotency-Key of a line, the same in every run. */
  keyOf(line: number): string
  /** Returns null for a line that was not sent or failed. Must be called in line order. */
  earlier(line: number): Promise<SentLine | null>
  /** Resolves when the entries are on disk. */
  writeAhead(lines: readonly { readonly number: number; readonly wasSent: boolean }[]): Promise<void>
  /** Lines written ahead but never marked here count as not sent when the run is closed. */
  sending(lines: readonly number[]): void
  /** With `isRepeatable` the results may be lost in a crash. */
  ended(events: readonly Event[], isRepeatable: boolean): void
  /** @throws CliError busy (exit 7) if another process has taken over the job */
  requireHeld(): Promise<void>
  close(isDone: boolean): Promise<void>
}

export function openState(job: HeldJob<{ readonly job: string }, Event>): JobState {
  const earlier = readEarlierRuns(job.earlierEvents)
  const unsent = new Set<number>()
  const namespace = parse(job.header.job)
  return {
    job: job.header.job,
    isResumed: job.isResumed,
    keyOf: line => v5(String(line), namespace),
    earlier: line => earlier.find(line),
    writeAhead: async lines => {
      const at = Date.now()
      for (const { number, wasSent } of lines) if (!wasSent) unsent.add(number)
      await job.append(...lines.map(({ number }) => ['s', number, at] as const))
    },
    sending: lines => {
      for (const line of lines) unsent.delete(line)
    },
    ended: (events, isRepeatable) => {
      if (isRepeatable) job.appendSoon(...events)
      else void job.append(...events).catch(() => {}) // the next write-ahead fails with the same error
    },
    requireHeld: () => job.requireHeld(),
    close: async isDone => {
      await earlier.close()
      for (const line of unsent) job.appendSoon(['f', line, 'unsent'])
      await job.close(isDone)
    },
  }
}

/** Maximum lines read but not yet reported, besides one request. Bounds the memory of an import. */
export const maxLinesInFlight = 4000

/** Maximum lines of one run without a result. */
const maxOpenLines = 2 * maxLinesInFlight

const maxResentLines = 100_000

/**
 * Streams first sends along with the file's lines, and holds the next 100,000 resent lines, so that memory does not grow with
 * the job. A run sends lines in order: one not after the last is a resend.
 *
 * `events` reads from the beginning at each call.
 */
export function readEarlierRuns(events: () => AsyncIterable<Event>) {
  const first = firstSends(events())
  let next: IteratorResult<SentLine> | undefined
  let resent: Resent | null = null
  return {
    find: async (line: number): Promise<SentLine | null> => {
      if (!resent || line > resent.to) resent = await readResent(events(), line)
      next ??= await first.next()
      while (!next.done && next.value.line < line) next = await first.next()
      const older = !next.done && next.value.line === line ? next.value : null
      const newer = resent.lines.get(line) ?? null
      return newer?.id ? newer : (older ?? newer)
    },
    close: async () => {
      await first.return(undefined)
    },
  }
}

async function* firstSends(events: AsyncIterable<Event>): AsyncGenerator<SentLine> {
  const open = new Map<number, SentLine>()
  let last = 0
  for await (const event of events) {
    const [kind, line] = event
    if (kind !== 's') applyResult(open, event)
    else if (line > last) {
      last = line
      open.set(line, { line, id: null, sentAt: event[2] })
    }
    if (open.size <= maxOpenLines) continue
    const [oldest] = open.values()
    if (!oldest) continue
    open.delete(oldest.line)
    yield oldest
  }
  yield* open.values()
}

interface Resent {
  readonly lines: ReadonlyMap<number, SentLine>
  readonly to: number
}

async function readResent(events: AsyncIterable<Event>, from: number): Promise<Resent> {
  const lines = new Map<number, SentLine>()
  let [last, to] = [0, Number.POSITIVE_INFINITY]
  for await (const event of events) {
    const [kind, line] = event
    if (kind !== 's') applyResult(lines, event)
    else if (line > last) last = line
    else if (line >= from && line <= to && !lines.has(line)) lines.set(line, { line, id: null, sentAt: event[2] })
    if (lines.size <= 2 * maxResentLines) continue
    const sorted = [...lines.keys()].sort((a, b) => a - b)
    for (const beyond of sorted.slice(maxResentLines)) lines.delete(beyond)
    to = sorted[maxResentLines - 1] ?? to
  }
  return { lines, to }
}

function applyResult(lines: Map<number, SentLine>, event: Event): void {
  const [kind, line] = event
  const sent = lines.get(line)
  if (sent && kind === 'f') lines.delete(line)
  else if (sent && kind === 'd') lines.set(line, { ...sent, id: event[2], ...(event[3] && { how: event[3] }) })
}
