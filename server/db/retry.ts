import { setTimeout as delay } from 'node:timers/promises'
import { codeOf, type Trouble, troubleOf } from './errors.ts'

/** How often work is tried again, by what went wrong. */
const retries: Partial<Record<Trouble, number>> = { undone: 3, refused: 1, lost: 1 }

/** How long before the first retry at most, in milliseconds; each one after it may wait as much longer. */
const longestDelay = 40

export interface RetryOptions {
  /** Whether the work may be done twice: then it is also tried again where the first try may have been done. */
  readonly isRepeatable: boolean
  /** Milliseconds after which it is not begun again. */
  readonly patience: number
  /** Told of the code of each error that is answered with a retry. */
  readonly onRetry: (code: string) => void
}

/**
 * Work on the database, tried again where that may help. Where a first try may have been done after all, only the success
 * of the second is believed: a deletion that was done, and is tried again, finds nothing.
 */
export async function retried<T>(
  work: () => Promise<T>,
  { isRepeatable, patience, onRetry }: RetryOptions,
): Promise<T> {
  const until = performance.now() + patience
  let doubt: { readonly error: unknown } | undefined
  for (let failures = 1; ; failures += 1) {
    try {
      return await work()
    } catch (error) {
      if (doubt) throw doubt.error
      const trouble = troubleOf(error)
      if (trouble === 'lost') doubt = { error }
      const isAllowed = isRepeatable || trouble !== 'lost'
      const wait = Math.random() * longestDelay * failures
      const most = (trouble && isAllowed && retries[trouble]) || 0
      if (failures > most || performance.now() + wait > until) throw error
      onRetry(codeOf(error) ?? '')
      await delay(wait)
    }
  }
}
