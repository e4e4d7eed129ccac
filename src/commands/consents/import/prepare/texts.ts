import { storable } from '../../../../contract/values.ts'
import type { Reason } from './prepared.ts'

export class RowProblem extends Error {
  override readonly name = 'RowProblem'
  readonly reason: Reason

  constructor(reason: Reason, message: string) {
    super(message)
    this.reason = reason
  }
}

/** '' for a missing value. @throws RowProblem for a list or an object */
export function textOf(value: unknown, path: string): string {
  if (typeof value === 'string') return value
  if (value === undefined || value === null) return ''
  if (typeof value === 'object') throw new RowProblem('field', `${path} is not a text`)
  return String(value)
}

const longestValue = 255

/** `name` begins the message. @throws RowProblem for a text that no map can decide */
export function decidable(value: string, name: string): string {
  if (value.length > longestValue) throw new RowProblem('field', `${name} has over ${longestValue} characters`)
  if (!storable(value)) throw new RowProblem('field', `${name} is not Unicode text without NUL`)
  if (value === '__proto__') throw new RowProblem('field', `${name} is __proto__`)
  return value
}
