import { storable } from '../../../../contract/values.ts'
import { usageError } from '../../../../errors/errors.ts'
import { findColumn, missingColumn } from '../../bulk/words.ts'
import type { Reason } from './prepared.ts'

export type Row = readonly unknown[] | Readonly<Record<string, unknown>>
export type Getter = (row: Row) => unknown

export interface Columns {
  /** @throws UsageError if a CSV lacks the column, unless optional */
  getter(path: string, isOptional?: boolean): Getter
  namesWith(prefix: string): readonly string[]
}

export type Step = string | number | { readonly key: string; readonly is: string }

/** A key equal to the whole path wins over its steps. */
export const jsonColumns: Columns = {
  getter: path => {
    const steps = parsePath(path)
    return row => {
      const own = steps.length > 1 ? valueAt(row, path) : undefined
      return own === undefined ? follow(row, steps) : own
    }
  },
  namesWith: () => [],
}

export function csvColumns(header: readonly string[], jsonCells: ReadonlySet<number>, name: string): Columns {
  const where = `${name}: the header`
  return {
    getter: (path, isOptional = false) => {
      const index = findColumn(header, path, where)
      if (index !== -1) return row => (row as readonly unknown[])[index]
      const [first, ...steps] = parsePath(path)
      const cell = typeof first === 'string' ? findColumn(header, first, where) : -1
      if (cell !== -1 && jsonCells.has(cell)) return row => follow((row as readonly unknown[])[cell], steps)
      if (isOptional) return () => undefined
      throw missingColumn(header, path, where)
    },
    namesWith: prefix => header.filter(each => each.startsWith(prefix) && each.length > prefix.length),
  }
}

const step = /\.?([^.[\]]+)|\[(\d+)\]|\[([^=\]]+)=([^\]]*)\]/y

export function parsePath(path: string): Step[] {
  const steps: Step[] = []
  step.lastIndex = 0
  while (step.lastIndex < path.length) {
    const match = step.exec(path)
    if (!match) throw usageError(`the map's path "${path}" cannot be read`, 'use name, a.b, a[0] or a[name=text]')
    const [, name, index, key, is] = match
    if (name !== undefined) steps.push(name)
    else steps.push(index === undefined ? { key: key as string, is: is as string } : Number(index))
  }
  return steps
}

export function follow(value: unknown, steps: readonly Step[]): unknown {
  let current = value
  for (const each of steps) current = stepInto(current, each)
  return current
}

function stepInto(value: unknown, each: Step): unknown {
  if (typeof each === 'string') return valueAt(value, each)
  if (!Array.isArray(value)) return undefined
  return typeof each === 'number' ? value[each] : value.find(element => valueAt(element, each.key) === each.is)
}

export function valueAt(value: unknown, key: string): unknown {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  return isObject && Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : undefined
}

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
