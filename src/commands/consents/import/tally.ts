import { endsAll } from '../../../cli/ids.ts'
import type { Context } from '../../../context.ts'
import { type Exit, exit } from '../../../errors/errors.ts'
import { explain } from '../../../errors/explain.ts'
import { report } from '../../../errors/report.ts'
import type { Outcome } from './send.ts'

/** What has become of the lines so far, and why no more are sent, if so. */
export interface Tally {
  created: number
  failed: number
  unknown: number
  /** How many of those no run sends again. */
  lost: number
  /** The last line whose result is known; 0 before the first. */
  last: number
  /** Why it stops before the end: a sentence without its beginning; null while it does not. */
  stop: string | null
  /** How many lines failed of those whose turn has not come, too. */
  seen: number
  /** Whether what is under way will stop it, when its turn comes to be told. */
  isEnding: boolean
  /** What ended it that is no matter of a line. */
  broken: unknown
  /** The exit code of the first line that failed. */
  first: Exit
  /** Says when somebody wants it to end, by a signal. */
  readonly interruption: AbortController
  /** The exit code of that signal. */
  signalExit: Exit
}

export function newTally(): Tally {
  const [interruption, first] = [new AbortController(), exit.done]
  const counts = { created: 0, failed: 0, unknown: 0, lost: 0, last: 0, seen: 0 }
  return {
    ...counts,
    stop: null,
    isEnding: false,
    broken: null,
    first,
    interruption,
    signalExit: exit.interrupted,
  }
}

/** Looks at what became of lines as soon as it is known: whether more may be sent. */
export function heed(tally: Tally, outcomes: readonly Outcome[], maxErrors: number): void {
  for (const { result, error } of outcomes) {
    if (result === 'failed') tally.seen += 1
    if (result === 'unsent' || (error !== null && endsAll(explain(error).exit))) tally.isEnding = true
  }
  if (tally.seen >= maxErrors) tally.isEnding = true
}

/** Counts a line, and tells why it failed, unless it only shares what stops them all. */
export async function count(
  ctx: Context,
  tally: Tally,
  { entry, result, error }: Outcome,
  maxErrors: number,
): Promise<void> {
  tally.last = entry.line.number
  if (result === 'created') tally.created += 1
  if (result === 'unknown') tally.unknown += 1
  if (result === 'failed') tally.failed += 1
  if (error === null) return
  const { code: reason, exit: code } = explain(error)
  if (reason === 'lost') tally.lost += 1
  if (tally.first === exit.done) tally.first = code
  const isHinted = code !== exit.unknown // what to do about a lost answer is told at the end
  if (tally.stop === null || !endsAll(code))
    await report(ctx, error, `line ${entry.line.number}`, { isHinted })
  if (endsAll(code)) tally.stop ??= 'the lines that follow would fail alike'
  if (tally.failed >= maxErrors) tally.stop ??= `${tally.failed} failed, and no more may`
}

/** Items until something stops the run. */
export async function* until<Item>(items: AsyncIterable<Item>, tally: Tally): AsyncGenerator<Item> {
  try {
    for await (const item of items) {
      if (tally.stop !== null || tally.isEnding) return
      yield item
    }
  } catch (error) {
    if (!tally.interruption.signal.aborted) throw error
  }
}

/** Partial where something is made and something is not; lines whose answer was lost, without one that failed, are 11. */
export function exitOf({ interruption, broken, created, failed, unknown, first, signalExit }: Tally): Exit {
  if (interruption.signal.aborted) return signalExit
  if (broken !== null) return created + unknown > 0 ? exit.partial : explain(broken).exit
  if (failed === 0) return unknown > 0 ? exit.unknown : exit.done
  return created + unknown > 0 ? exit.partial : first
}
