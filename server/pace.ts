import { setTimeout as delay } from 'node:timers/promises'

export interface Pace {
  readonly signal: AbortSignal
  /** Runs one batch at a time, and pauses after each for as long as it took. */
  readonly isModest?: boolean
}

export async function pauseAfter(start: number, { isModest }: Pace): Promise<void> {
  if (isModest) await delay(performance.now() - start)
}
