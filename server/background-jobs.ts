import type { Logger } from 'pino'
import { dbErrorCode } from './db/errors.ts'

/** Repeated by each node, beside the others. */
export interface Job {
  readonly name: string
  /** From the end of a run to the next start, ± 10 %, so that nodes that start together spread out. */
  readonly intervalMs: number
  /** Returns what to log, or null. Stops between statements once the signal is aborted. */
  run(signal: AbortSignal): Promise<object | null>
}

interface RunningJobs {
  stop(): Promise<void>
}

/** Runs each job independently. A failed run is logged and repeated after the interval. */
export function startJobs(jobs: readonly Job[], logger: Pick<Logger, 'info' | 'error'>): RunningJobs {
  const stopping = new AbortController()
  const runs = jobs.map(job => repeat(job, logger, stopping.signal))
  return {
    stop: async () => {
      stopping.abort()
      await Promise.all(runs)
    },
  }
}

async function repeat(
  { name, intervalMs, run }: Job,
  logger: Pick<Logger, 'info' | 'error'>,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    await pause(intervalMs * (0.9 + 0.2 * Math.random()), signal)
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

/** A longer timer fires at once. */
const maxTimerMs = 2 ** 31 - 1

function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    const end = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, Math.min(milliseconds, maxTimerMs))
    signal.addEventListener('abort', end)
  })
}
