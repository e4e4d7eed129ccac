import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from 'pino'
import { dbErrorCode } from './db/errors.ts'

export interface Job {
  readonly name: string
  /** Pause between runs, ± 10 %. */
  readonly intervalMs: number
  /** Returns data to log. Stops between statements after an abort. */
  run(signal: AbortSignal): Promise<object | null>
}

interface Host {
  readonly logger: Pick<Logger, 'info' | 'error'>
  readonly canWrite: () => boolean
  readonly signal: AbortSignal
}

export function startJobs(
  jobs: readonly Job[],
  logger: Host['logger'],
  canWrite: Host['canWrite'] = () => true,
): { stop(): Promise<void> } {
  const stopping = new AbortController()
  const runs = jobs.map(job => repeat(job, { logger, canWrite, signal: stopping.signal }))
  return {
    stop: async () => {
      stopping.abort()
      await Promise.all(runs)
    },
  }
}

const maxTimerMs = 2 ** 31 - 1

const writableIntervalMs = 1000

async function repeat({ name, intervalMs, run }: Job, { logger, canWrite, signal }: Host): Promise<void> {
  const wait = (ms: number) => delay(ms, null, { signal }).catch(() => {})
  for (;;) {
    await wait(Math.min(intervalMs * (0.9 + 0.2 * Math.random()), maxTimerMs))
    while (!signal.aborted && !canWrite()) await wait(writableIntervalMs)
    if (signal.aborted) return
    try {
      const done = await run(signal)
      if (done) logger.info(done, name)
    } catch (error) {
      logger.error(describeError(error), `${name} failed`)
    }
  }
}

/** Messages of database errors quote rows. */
function describeError(error: unknown): object {
  const code = dbErrorCode(error)
  return code === null ? { cause: (error as Error).message } : { code }
}
