import { usageError } from '../../../../errors/errors.ts'
import { type AnswerFields, isConstant, type Purposes, preferenceOf } from './map.ts'
import { type Columns, decidable, follow, parsePath, type Row, RowProblem, textOf } from './rows.ts'
import { textGetter } from './sources.ts'

/** Purposes that the row answers, or the map decides. */
export interface PurposeValue {
  readonly name: string
  readonly value: string
  /** Where in the row they are. */
  readonly column: string
  readonly answer?: 'yes' | 'no'
}

/** Before the name of a field `pref.NAME`. No name in a file has it, so that the table `names` renames those alone. */
const mark = '\0'

/** NAME if the purpose is of a field `pref.NAME`. */
export function fieldPreference(purpose: string): string | undefined {
  return purpose.startsWith(mark) ? purpose.slice(mark.length) : undefined
}

export type PurposeReader = (row: Row) => readonly PurposeValue[]

/** Of the fields `pref.NAME`. @throws UsageError if a column is missing */
export function openPreferences(fields: AnswerFields, columns: Columns): PurposeReader[] {
  return Object.entries(fields).flatMap(([field, source]) => {
    const name = preferenceOf(field)
    if (name === undefined) return []
    const named = { name: mark + name, column: field }
    if (isConstant(source)) {
      const constant = [{ ...named, value: '', answer: source.constant as 'yes' | 'no' }]
      return [() => constant]
    }
    const get = textGetter(columns, source)
    const column = typeof source === 'string' && source !== field ? `${field} ("${source}")` : field
    return [row => [{ ...named, column, value: decidable(get(row), column) }]]
  })
}

/** @throws UsageError if a column is missing */
export function openPurposes(purposes: readonly Purposes[], columns: Columns): PurposeReader[] {
  return purposes.map(each => open(each, columns))
}

function open(purposes: Purposes, columns: Columns): PurposeReader {
  switch (purposes.from) {
    case 'columns': {
      const { columns: start, prefix } = purposes
      const getters = columns.namesWith(start).map(each => [each, columns.getter(each)] as const)
      if (getters.length === 0) throw usageError(`no column begins with "${start}", which the map requires`)
      return row => getters.map(([each, get]) => purpose(each.slice(start.length), get(row), each, prefix))
    }
    case 'row': {
      const [name, value] = [columns.getter(purposes.name), columns.getter(purposes.value)]
      return row => [purpose(textOf(name(row), purposes.name), value(row), purposes.value, purposes.prefix)]
    }
    case 'object':
      return openObject(purposes, columns)
    case 'list':
      return openList(purposes, columns)
    case 'names':
      return openNames(purposes, columns)
  }
}

function openObject({ path, value, prefix }: Extract<Purposes, { from: 'object' }>, columns: Columns): PurposeReader {
  const get = columns.getter(path)
  const steps = value === undefined ? [] : parsePath(value)
  return row => {
    const object = get(row) ?? {}
    if (typeof object !== 'object' || Array.isArray(object)) {
      if (object === '') return []
      throw new RowProblem('field', `${path} is not an object`)
    }
    return Object.entries(object).map(([name, each]) => purpose(name, follow(each, steps), path, prefix))
  }
}

function openList({ path, name, value, prefix }: Extract<Purposes, { from: 'list' }>, columns: Columns): PurposeReader {
  const get = columns.getter(path)
  const [nameSteps, valueSteps] = [parsePath(name), parsePath(value)]
  return row =>
    listOf(get(row), path).map(each =>
      purpose(textOf(follow(each, nameSteps), name), follow(each, valueSteps), path, prefix),
    )
}

function openNames(
  { path, answer, separator, all = [], prefix }: Extract<Purposes, { from: 'names' }>,
  columns: Columns,
): PurposeReader {
  const get = columns.getter(path)
  const opposite = answer === 'yes' ? 'no' : 'yes'
  return row => {
    const given = get(row)
    // An empty cell can be an empty list, but must not become consent.
    const isAbsent = given === undefined || given === null || (given === '' && answer === 'no')
    const texts = typeof given === 'string' && separator !== undefined ? split(given, separator) : listOf(given, path)
    const names = texts.map(each => textOf(each, path))
    const others = isAbsent ? [] : all.filter(name => !names.includes(name))
    return [
      ...names.map(name => ({ ...purpose(name, '', path, prefix), answer })),
      ...others.map(name => ({ ...purpose(name, '', path, prefix), answer: opposite as 'yes' | 'no' })),
    ]
  }
}

function split(text: string, separator: string): string[] {
  return text
    .split(separator)
    .map(each => each.trim())
    .filter(each => each !== '')
}

function listOf(value: unknown, path: string): readonly unknown[] {
  if (value === undefined || value === null || value === '') return []
  if (!Array.isArray(value)) throw new RowProblem('field', `${path} is not a list`)
  return value
}

function purpose(name: string, value: unknown, column: string, prefix = ''): PurposeValue {
  if (name === '') throw new RowProblem('field', `a purpose in ${column} has no name`)
  return {
    name: decidable(prefix + name, `the name of a purpose in ${column}`),
    value: decidable(textOf(value, name), `"${name}"`),
    column,
  }
}
