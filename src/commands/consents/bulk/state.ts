import type { HeldJob, Run } from '../../../jobs/jobs.ts'

/**
 * `r`: results of lines sent by this run, in line order without a gap; the last is the watermark. `s`: lines up to `to`
 * may be sent from `at` on (Unix time in ms). `e`: nothing after the watermark was sent.
 */
export type Entry = readonly ['r', ...Result[]] | readonly ['s', to: number, at: number] | readonly ['e']

/**
 * A done line with the record's id, and how it was done if not simply done; null for a line to (re)send; or the time
 * since which it may have been carried out.
 */
export type Result = readonly [line: number, id: string, how?: How] | readonly [line: number, sentAt: number | null]

/** `unchanged`: already had the values. `unanswered`: the response was lost, but the record shows the change. */
export type How = 'unchanged' | 'unanswered'

/** By earlier runs: done, or possibly done since this Unix time in ms. */
export type Earlier =
  | { readonly id: string; readonly how?: How | undefined }
  | { readonly id: null; readonly sentAt: number }

export type JobState = Awaited<ReturnType<typeof openState>>

/** Maximum number of lines read but not reported, besides one request: bounds the memory. */
export const maxLinesInFlight = 4000

export async function openState(job: HeldJob<{ readonly job: string }, Entry>) {
  const earlier = await readEarlierRuns(job.earlierRuns)
  let waiting: Result[] = []
  let [sentTo, recordedTo] = [0, 0]
  let begun: Promise<void> = Promise.resolve()
  const takeWaiting = (): Entry[] => {
    const results = waiting
    waiting = []
    return results.length > 0 ? [['r', ...results]] : []
  }
  const begin = async (to: number) => {
    sentTo = to
    await job.append(...takeWaiting(), ['s', to, Date.now()])
    recordedTo = to
  }
  return {
    job: job.header.job,
    isResumed: job.earlierRuns.length > 0,
    /** Idempotency-Key, the same in every run. */
    keyOf: (line: number) => `${job.header.job}-${line}`,
    /** Null for a line to send as if for the first time. Call in line order. */
    earlier: (line: number) => earlier.find(line),
    /** Resolves once it is on disk that lines up to this one may be sent; `ahead` more save writes. */
    begin: async (line: number, ahead: number) => {
      if (line + ahead / 2 > sentTo) {
        begun = begin(line + ahead)
        begun.catch(() => {}) // thrown where awaited
      }
      if (line > recordedTo) await begun
    },
    /** Written with the next `begin` if the lines can be sent again. */
    ended: (results: readonly Result[], isRepeatable: boolean) => {
      waiting.push(...results)
      if (!isRepeatable) void job.append(...takeWaiting()).catch(() => {}) // the next `begin` fails too
    },
    /** @throws CliError busy (exit 7) if another process took the job over */
    requireHeld: () => job.requireHeld(),
    close: async (isDone: boolean) => {
      await earlier.close()
      if (!isDone) await job.append(...takeWaiting(), ['e']).catch(() => {})
      await job.close(isDone)
    },
  }
}

/** `runs` in order. Reads results along with the file's lines, in constant memory. */
export async function readEarlierRuns(runs: readonly Run<Entry>[]) {
  const newestFirst = (await Promise.all(runs.map(readRun))).reverse()
  return {
    find: async (line: number): Promise<Earlier | null> => {
      let sentAt = Number.POSITIVE_INFINITY
      for (const run of newestFirst) {
        const result = await run.find(line)
        const [, id = run.mayBeSentAt(line), how] = result ?? []
        if (typeof id === 'string') return { id, how }
        if (typeof id === 'number') sentAt = Math.min(sentAt, id)
        if (result) break
      }
      return sentAt === Number.POSITIVE_INFINITY ? null : { id: null, sentAt }
    },
    close: async () => {
      for (const run of newestFirst) await run.close()
    },
  }
}

async function readRun(entries: Run<Entry>) {
  let last = 0
  let sent: { to: number; at: number }[] = []
  for await (const [kind, ...rest] of entries()) {
    if (kind === 's') sent.push({ to: rest[0] as number, at: rest[1] as number })
    else if (kind === 'e') sent = []
    else {
      last = (rest.at(-1) as Result)[0]
      sent = sent.filter(({ to }) => to > last)
    }
  }
  const results = resultsOf(entries)
  let next: IteratorResult<Result> | undefined
  return {
    /** State of a line after the watermark, in a window. */
    mayBeSentAt: (line: number) => (line > last ? sent.find(({ to }) => line <= to)?.at : undefined),
    /** Call in line order. */
    find: async (line: number): Promise<Result | null> => {
      if (line > last) return null
      next ??= await results.next()
      while (!next.done && next.value[0] < line) next = await results.next()
      return !next.done && next.value[0] === line ? next.value : null
    },
    close: async () => {
      await results.return(undefined)
    },
  }
}

async function* resultsOf(entries: Run<Entry>): AsyncGenerator<Result> {
  for await (const [kind, ...rest] of entries()) if (kind === 'r') yield* rest as Result[]
}

/** Done lines are not resent, so each has one such result. */
export async function countEarlier(runs: readonly Run<Entry>[]) {
  const counts = { doneBefore: 0, unchangedBefore: 0 }
  for (const run of runs)
    for await (const [, id, how] of resultsOf(run)) {
      if (typeof id === 'string') counts.doneBefore += 1
      if (how === 'unchanged') counts.unchangedBefore += 1
    }
  return counts
}
