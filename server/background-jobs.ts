import type { Logger } from 'pino'
import { dbErrorCode } from './db/errors.ts'

/** Work that a node does by itself, again and again, beside others that do the same. */
export interface Job {
  readonly name: string
  /** Milliseconds from the end of one run to the next, give or take a tenth: nodes that start together do not meet. */
  readonly every: number
  /** What it has done may be told in the log; nothing where null. It stops between two statements once the signal says so. */
  run(signal: AbortSignal): Promise<object | null>
}

interface RunningJobs {
  /** Resolves when none is at work any more. */
  stop(): Promise<void>
}

/** Runs each job on its own; one that fails is told and tried again at its next time. */
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
  { name, every, run }: Job,
  logger: Pick<Logger, 'info' | 'error'>,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    await pause(every * (0.9 + 0.2 * Math.random()), signal)
    if (signal.aborted) return
    try {
      const done = await run(signal)
      if (done) logger.info(done, name)
    } catch (error) {
      logger.error(tellable(error), `${name} failed`)
    }
  }
}

/** The database's own words quote rows, so of its errors only the code is told. */
function tellable(error: unknown): object {
  const code = dbErrorCode(error)
  return code === null ? { cause: (error as Error).message } : { code }
}

/** The longest that a timer takes, in milliseconds: one that is set to more ends at once. */
const longestPause = 2 ** 31 - 1

function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    const end = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, Math.min(milliseconds, longestPause))
    signal.addEventListener('abort', end)
  })
}
