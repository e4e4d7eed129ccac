import { OperatorError } from '../../src/contract/index.ts'
import { dbErrorCode, dbErrorKind } from '../db/errors.ts'

/** What could not be done of some work that goes on without it. */
export class Failures {
  #first: string | undefined
  #more = 0

  /** Notes a failure under the name of what it is of. Throws it where the database is gone: nothing else would do better. */
  note(what: string, error: unknown): void {
    if (isOfAll(error)) throw error
    if (this.#first !== undefined) this.#more += 1
    else this.#first = `${what}: ${dbErrorCode(error) ?? (error as Error).message}`
  }

  /** Throws an OperatorError that names the first, and how many more there are. */
  throwAny(): void {
    if (this.#first === undefined) return
    const message = this.#more === 0 ? this.#first : `${this.#first}; and ${this.#more} more`
    throw new OperatorError(message, {
      obstacle: 'conflict',
      hint: 'all else is done; consentctl admin verify says what was changed',
    })
  }
}

/**
 * Does some work on all rows at once, and where that fails on each half of them by itself, down to the single record that
 * it fails for, which `onBad` is told. Throws what is the fault of no record.
 */
export async function piecewise<Row extends { readonly id: string }, Result>(
  rows: readonly Row[],
  work: (rows: readonly Row[]) => Promise<Result>,
  onBad: (id: string, error: unknown) => void,
): Promise<Result[]> {
  try {
    return [await work(rows)]
  } catch (error) {
    if (isOfAll(error) || ['aborted', 'rejected'].includes(dbErrorKind(error) ?? '')) throw error
    const half = Math.ceil(rows.length / 2)
    const [former, latter] = [rows.slice(0, half), rows.slice(half)]
    if (latter.length > 0) {
      const done = await piecewise(former, work, onBad)
      return [...done, ...(await piecewise(latter, work, onBad))]
    }
    for (const { id } of former) onBad(id, error)
    return []
  }
}

function isOfAll(error: unknown): boolean {
  return ['lost', 'unavailable'].includes(dbErrorKind(error) ?? '')
}
