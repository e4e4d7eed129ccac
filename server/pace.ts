import { setTimeout as delay } from 'node:timers/promises'

/** Of a job in batches. */
export interface Pace {
  readonly signal: AbortSignal
  /** Pauses after each batch for as long as it took, to leave the database to others. */
  readonly isModest?: boolean
}

/** Pauses after a batch that began at `start` (`performance.now()`). */
export async function pauseAfter(start: number, { isModest }: Pace): Promise<void> {
  if (isModest) await delay(performance.now() - start)
}
