import { stat } from 'node:fs/promises'
import * as z from 'zod'
import { usageError } from '../../../errors/errors.ts'
import { readText } from '../../../io/input.ts'
import type { Io } from '../../../io/io.ts'
import { readObject } from '../fields.ts'
import { namedWords } from './words.ts'

/** Columns and words of a CSV; stored in the job. */
export const ColumnMap = z.strictObject({
  /** By field. Null without a map: columns are named like fields. */
  fields: z.record(z.string(), z.string()).nullable(),
  /** Ignored even if named like a field. */
  not_used: z.array(z.string()),
  true: z.array(z.string()),
  false: z.array(z.string()),
})
export type ColumnMap = z.output<typeof ColumnMap>

export const ownColumns: ColumnMap = { fields: null, not_used: [], true: [], false: [] }

const words = z.array(z.string().trim().min(1, 'must not be empty'))

const MapFile = z.strictObject({
  about: z.unknown().optional(),
  fields: z.record(z.string(), z.string().nullable()),
  not_used: z.array(z.string()).default([]),
  true: words.default([]),
  false: words.default([]),
  undecided: words.default([]),
})

interface MapFlags {
  /** Path, or `field=column,…`. */
  readonly map: string | undefined
  readonly true: string | undefined
  readonly false: string | undefined
}

/**
 * Null without flags. `fields`: allowed in a line.
 *
 * @throws UsageError for an unreadable map, an unknown field, or a word for both yes and no
 */
export async function readMap(io: Io, flags: MapFlags, fields: readonly string[]): Promise<ColumnMap | null> {
  if (flags.map === undefined && flags.true === undefined && flags.false === undefined) return null
  const map = flags.map === undefined ? ownColumns : await readFields(io, flags.map, fields)
  for (const field of Object.keys(map.fields ?? {})) {
    if (isField(field, fields)) continue
    throw usageError(`--map: "${field}" is not a field`, `use ${fieldNames(fields)}`)
  }
  const all = {
    ...map,
    true: [...map.true, ...splitWords('--true', flags.true)],
    false: [...map.false, ...splitWords('--false', flags.false)],
  }
  namedWords(all)
  return all
}

export function isField(name: string, fields: readonly string[]): boolean {
  return fields.includes(name) || (fields.includes('preferences') && preferenceName(name) !== undefined)
}

export function fieldNames(fields: readonly string[]): string {
  return `${fields.join(', ')}${fields.includes('preferences') ? ', pref.NAME' : ''}`
}

/** NAME of `pref.NAME`. */
export function preferenceName(name: string): string | undefined {
  const preference = /^pref(?:erences)?\.(.+)$/is.exec(name.trim())?.[1]
  return preference === '__proto__' ? undefined : preference
}

async function readFields(io: Io, map: string, fields: readonly string[]): Promise<ColumnMap> {
  const [first = ''] = map.split('=')
  if (map.includes('=') && isField(first.trim(), fields)) return readPairs(map, fields)
  if (map.includes('=') && !(await isThere(map)))
    throw usageError(
      `--map: "${first.trim()}" is not a field`,
      `use FIELD=COLUMN, with the fields ${fieldNames(fields)}`,
    )
  return await readMapFile(io, map)
}

async function isThere(path: string): Promise<boolean> {
  return await stat(path).then(
    () => true,
    () => false,
  )
}

/** Column names may contain `,` and `=`. */
function readPairs(map: string, fields: readonly string[]): ColumnMap {
  const pairs: [string, string][] = []
  for (const part of map.split(',')) {
    const [, field = '', column = ''] = /^([^=]*)=(.*)$/s.exec(part) ?? []
    const last = pairs.at(-1)
    if (isField(field.trim(), fields)) pairs.push([field.trim(), column])
    else if (last) last[1] += `,${part}`
  }
  for (const [index, [field, column]] of pairs.entries()) {
    if (column.trim() === '') throw usageError(`--map ${field}= names no column`, `use ${field}=COLUMN`)
    if (pairs.findIndex(([other]) => other === field) < index) throw usageError(`--map: ${field} is repeated`)
  }
  return { ...ownColumns, fields: Object.fromEntries(pairs) }
}

async function readMapFile(io: Io, path: string): Promise<ColumnMap> {
  const parsed = MapFile.safeParse(readObject(await readText(io, path), path))
  const issue = parsed.error?.issues[0]
  if (issue) throw usageError(`${path}: ${issue.path.join('.') || 'the map'}: ${issue.message}`)
  const { fields, not_used, true: yes, false: no } = parsed.data as z.output<typeof MapFile>
  const used = Object.entries(fields).flatMap(([field, column]) => (column === null ? [] : [[field, column] as const]))
  return { fields: Object.fromEntries(used), not_used, true: yes, false: no }
}

function splitWords(flag: string, text: string | undefined): string[] {
  const words = text?.split(',').map(word => word.trim()) ?? []
  if (words.includes('')) throw usageError(`${flag} has an empty word`, `use ${flag} word,word`)
  return words
}
