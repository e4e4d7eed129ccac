import { stat } from 'node:fs/promises'
import * as z from 'zod'
import { circumstanceNames } from '../../../contract/circumstance-words.ts'
import { usageError } from '../../../errors/errors.ts'
import { fold } from '../../../io/csv.ts'
import { readText } from '../../../io/input.ts'
import type { Io } from '../../../io/io.ts'
import { readObject } from '../fields.ts'

/** Columns and values of a CSV, as in the map of an import; stored in the job. */
export const ColumnMap = z.strictObject({
  /** Column by field; null for a field without a column. Null without a map: columns are named like fields. */
  fields: z.record(z.string(), z.string().nullable()).nullable(),
  /** In addition to the common values. A line with an undecided (null) value is rejected. */
  values: z.record(z.string(), z.enum(['yes', 'no'], 'must be yes or no').nullable()).default({}),
})
export type ColumnMap = z.output<typeof ColumnMap>

export const ownColumns: ColumnMap = { fields: null, values: {} }

const MapFile = z.strictObject({
  about: z.unknown().optional(),
  fields: z.record(z.string(), z.string().nullable()),
  values: ColumnMap.shape.values,
})

interface MapFlags {
  /** Path, or `field=column,…`. */
  readonly map?: string | undefined
  readonly true?: string | undefined
  readonly false?: string | undefined
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
  const words = [
    ...Object.entries(map.values),
    ...splitWords('--true', flags.true).map(word => [word, 'yes'] as const),
    ...splitWords('--false', flags.false).map(word => [word, 'no'] as const),
  ]
  namedWords(words)
  return { ...map, values: Object.fromEntries(words) }
}

export function isField(name: string, fields: readonly string[]): boolean {
  return (
    fields.includes(name) ||
    (fields.includes('preferences') && preferenceName(name) !== undefined) ||
    (fields.includes('circumstances') && circumstanceName(name) !== undefined)
  )
}

export function fieldNames(fields: readonly string[]): string {
  return `${fields.join(', ')}${fields.includes('preferences') ? ', pref.NAME' : ''}`
}

export function preferenceName(name: string): string | undefined {
  const preference = /^pref(?:erences)?\.(.+)$/is.exec(name.trim())?.[1]
  return preference === '__proto__' ? undefined : preference
}

/** Such as `method` of `circumstances.method`. */
export function circumstanceName(field: string): string | undefined {
  const [prefix, name = ''] = field.split('.', 2)
  return prefix === 'circumstances' && (circumstanceNames as readonly string[]).includes(name) ? name : undefined
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
    if (column.trim() === '') throw usageError(`--map ${field}= requires a column`, `use ${field}=COLUMN`)
    if (pairs.findIndex(([other]) => other === field) < index) throw usageError(`--map: ${field} is repeated`)
  }
  return { ...ownColumns, fields: Object.fromEntries(pairs) }
}

async function readMapFile(io: Io, path: string): Promise<ColumnMap> {
  const parsed = MapFile.safeParse(readObject(await readText(io, path), path))
  const issue = parsed.error?.issues[0]
  if (issue) throw usageError(`${path}: ${issue.path.join('.') || 'the map'}: ${issue.message}`)
  const { fields, values } = parsed.data as z.output<typeof MapFile>
  return { fields, values }
}

function splitWords(flag: string, text: string | undefined): string[] {
  const words = text?.split(',').map(word => word.trim()) ?? []
  if (words.includes('')) throw usageError(`${flag}: a value is empty`, `use ${flag} word,word`)
  return words
}

/** European languages; booleans of spreadsheets and databases. */
const commonYes =
  'true yes y t 1 on accepted accept granted agreed consented subscribed opt-in optin opted-in ' +
  'ja j oui sí si sim sì tak ano áno da igen kyllä jah jā taip evet ναι да так akzeptiert zugestimmt angemeldet accepté ' +
  'wahr vrai verdadero verdadeiro vero waar prawda pravda sant sand sann tosi igaz doğru истина'

const commonNo =
  'false no n f 0 off rejected reject refused declined denied unsubscribed opt-out optout opted-out ' +
  'nein non não nao nee nej nei nie ne nem ei nē nu hayır όχι нет не ні abgelehnt abgemeldet refusé ' +
  'falsch faux falso onwaar fałsz nepravda falskt falsk usann epätosi hamis yanlış yanliş ложь'

/** Null for an undecided value, undefined for others. */
export type WordReader = (word: string) => boolean | null | undefined

/** Ignores case and surrounding blanks. @throws UsageError for a value with both meanings */
export function namedWords(words: readonly (readonly [word: string, meaning: 'yes' | 'no' | null])[]): WordReader {
  const named = new Map<string, boolean | null>()
  for (const [word, meaning] of words) {
    if (meaning === null) {
      named.set(fold(word), named.get(fold(word)) ?? null)
      continue
    }
    const isYes = meaning === 'yes'
    if (named.get(fold(word)) === !isYes) throw usageError(`"${word}" is listed as both true and false`)
    named.set(fold(word), isYes)
  }
  return word => named.get(fold(word))
}

let common: ReadonlyMap<string, boolean> | undefined

export function commonWords(word: string): boolean | undefined {
  common ??= new Map([
    ...commonYes.split(' ').map(each => [each, true] as const),
    ...commonNo.split(' ').map(each => [each, false] as const),
  ])
  const folded = fold(word)
  return common.get(folded) ?? common.get(folded.replaceAll(/[ _]/g, '-'))
}
