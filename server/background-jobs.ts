import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from 'pino'
import { dbErrorCode } from './db/errors.ts'

export interface Job {
  readonly name: string
  /** From the end of a run to the next start, ± 10 %, so that nodes that start together spread out. */
  readonly intervalMs: number
  /** Returns what to log, or null. Stops between statements once the signal is aborted. */
  run(signal: AbortSignal): Promise<object | null>
}

/** A failed run is logged and repeated after the interval. */
export function startJobs(jobs: readonly Job[], logger: Pick<Logger, 'info' | 'error'>): { stop(): Promise<void> } {
  const stopping = new AbortController()
  const runs = jobs.map(job => repeat(job, logger, stopping.signal))
  return {
    stop: async () => {
      stopping.abort()
      await Promise.all(runs)
    },
  }
}

/** A longer timer fires at once. */
const maxTimerMs = 2 ** 31 - 1

async function repeat(
  { name, intervalMs, run }: Job,
  logger: Pick<Logger, 'info' | 'error'>,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    const pauseMs = Math.min(intervalMs * (0.9 + 0.2 * Math.random()), maxTimerMs)
    await delay(pauseMs, null, { signal }).catch(() => {})
    if (signal.aborted) return
    try {
      const done = await run(signal)
      if (done) logger.info(done, name)
    } catch (error) {
      logger.error(describeError(error), `${name} failed`)
    }
  }
}

/** The database's messages quote rows, so only its codes are logged. */
function describeError(error: unknown): object {
  const code = dbErrorCode(error)
  return code === null ? { cause: (error as Error).message } : { code }
}
