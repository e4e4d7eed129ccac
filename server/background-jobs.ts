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
  /** Jobs wait while it returns false. */
  readonly canWrite?: () => boolean
  readonly onEnd?: ((job: string, isSuccess: boolean) => void) | undefined
}

export function startJobs(jobs: readonly Job[], host: Host): { stop(): Promise<void> } {
  const stopping = new AbortController()
  const runs = jobs.map(job => repeat(job, host, stopping.signal))
  return {
    stop: async () => {
      stopping.abort()
      await Promise.all(runs)
    },
  }
}

const maxTimerMs = 2 ** 31 - 1

const writableIntervalMs = 1000

async function repeat({ name, intervalMs, run }: Job, host: Host, signal: AbortSignal): Promise<void> {
  const { logger, canWrite = () => true, onEnd } = host
  const wait = (ms: number) => delay(ms, null, { signal }).catch(() => {})
  for (;;) {
    await wait(Math.min(intervalMs * (0.9 + 0.2 * Math.random()), maxTimerMs))
    while (!signal.aborted && !canWrite()) await wait(writableIntervalMs)
    if (signal.aborted) return
    try {
      const done = await run(signal)
      if (done) logger.info(done, name)
      onEnd?.(name, true)
    } catch (error) {
      logger.error(describeError(error), `${name} failed`)
      onEnd?.(name, false)
    }
  }
}

/** Messages of database errors quote rows. */
function describeError(error: unknown): object {
  const code = dbErrorCode(error)
  return code === null ? { cause: (error as Error).message } : { code }
}
