import { setTimeout as delay } from 'node:timers/promises'

export interface Pace {
  /** Ends the work after the batch it is at. */
  readonly signal: AbortSignal
  /** Leaves the database to others for as long as each batch took. */
  readonly isModest?: boolean
}

export const day = 24 * 60 * 60 * 1000

/** Before the first id there is. */
export const noId = '00000000-0000-0000-0000-000000000000'

/** What a batch that began then (`performance.now()`) owes to others. */
export async function rest({ isModest }: Pace, start: number): Promise<void> {
  if (isModest) await delay(performance.now() - start)
}
