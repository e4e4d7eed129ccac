import { OperatorError } from '../../src/contract/index.ts'
import { dbErrorCode, dbErrorKind } from '../db/errors.ts'

export const dayMs = 24 * 60 * 60 * 1000

export class Failures {
  #first: string | undefined
  #more = 0

  /** Rethrows if the database is down. */
  add(subject: string, error: unknown): void {
    if (['lost', 'unavailable'].includes(dbErrorKind(error) ?? '')) throw error
    if (this.#first !== undefined) this.#more += 1
    else this.#first = `${subject}: ${dbErrorCode(error) ?? (error as Error).message}`
  }

  /** @throws OperatorError that names the first failure and counts the others */
  throwIfAny(): void {
    if (this.#first === undefined) return
    const message = this.#more === 0 ? this.#first : `${this.#first}; and ${this.#more} more`
    throw new OperatorError(message, {
      code: 'conflict',
      hint: 'everything else was purged; consentctl admin verify shows what was changed',
    })
  }
}
