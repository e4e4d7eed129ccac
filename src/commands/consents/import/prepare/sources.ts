import { storable } from '../../../../contract/values.ts'
import { sha256 } from '../../../../evidence/bytes.ts'
import { canonical } from '../../../../evidence/canonical.ts'
import type { Source } from './map.ts'
import { type Columns, type Getter, type Row, RowProblem, textOf } from './rows.ts'

export type TextGetter = (row: Row) => string

/** '' for a missing value. @throws UsageError if a column is missing */
export function textGetter(columns: Columns, source: Source): TextGetter {
  if (typeof source === 'string') return named(columns.getter(source), source)
  if ('path' in source) return named(columns.getter(source.path, source.optional), source.path)
  if ('constant' in source) return () => String(source.constant)
  if ('sha256' in source) return hashGetter(columns.getter(source.sha256))
  if ('join' in source) {
    const parts = source.join.map(path => named(columns.getter(path), path))
    return row => {
      const texts = parts.map(get => get(row))
      return texts.includes('') ? '' : texts.join(source.separator)
    }
  }
  const choices = source.first.map(path => named(columns.getter(path, true), path))
  return row => choices.reduce((found, get) => (found === '' ? get(row) : found), '')
}

/** False if a source that may be missing names no column of a CSV. */
export function hasColumn(columns: Columns, source: Source | undefined): boolean {
  if (typeof source !== 'object') return true
  if ('first' in source) return source.first.some(path => columns.has(path))
  return !('path' in source) || columns.has(source.path)
}

function named(get: Getter, path: string): TextGetter {
  return row => textOf(get(row), path)
}

function hashGetter(get: Getter): TextGetter {
  return row => {
    const value = get(row)
    if (value === undefined || value === null || value === '') return ''
    if (typeof value === 'string' && !storable(value)) throw new RowProblem('field', 'evidence is not Unicode text')
    const content = typeof value === 'object' ? canonical(value) : String(value)
    return `sha256:${sha256(content).toString('hex')}`
  }
}
