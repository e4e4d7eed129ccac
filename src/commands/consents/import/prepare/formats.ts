import { createHash } from 'node:crypto'
import type * as z from 'zod'
import { usageError } from '../../../../errors/errors.ts'
import { jcs } from '../../../../evidence/canonical.ts'
import { readText } from '../../../../io/input.ts'
import type { Io } from '../../../../io/io.ts'
import { preferenceName } from '../../bulk/map.ts'
import { readObject } from '../../fields.ts'
import { ImportMap } from './map.ts'

type Fields = Readonly<Record<string, unknown>>

/** `csv` also requires a `--map`. */
const formats = {
  usercentrics: () => import('../formats/usercentrics.json', { with: { type: 'json' } }),
  iubenda: () => import('../formats/iubenda.json', { with: { type: 'json' } }),
  didomi: () => import('../formats/didomi.json', { with: { type: 'json' } }),
  'cookie-script': () => import('../formats/cookie-script.json', { with: { type: 'json' } }),
  'commanders-act': () => import('../formats/commanders-act.json', { with: { type: 'json' } }),
  consenti: () => import('../formats/consenti.json', { with: { type: 'json' } }),
  c15t: () => import('../formats/c15t.json', { with: { type: 'json' } }),
  klaro: () => import('../formats/klaro.json', { with: { type: 'json' } }),
  csv: () => import('../formats/csv.json', { with: { type: 'json' } }),
} satisfies Record<string, () => Promise<{ readonly default: object }>>

export type FormatName = keyof typeof formats

export const formatNames = Object.keys(formats) as FormatName[]

/** The format's map, extended by `--map`. @throws UsageError if that is unreadable or the result invalid */
export async function loadMap(io: Io, format: FormatName, path: string | undefined): Promise<ImportMap> {
  const base: Fields = (await formats[format]()).default
  const own = path === undefined ? {} : readObject(await readText(io, path), path)
  if (format === 'csv' && path !== undefined) requireSystem(own, path)
  return parseMap(extend(base, inFull(own, base)), path, format)
}

/** `fields` may also name the columns of the answer and of preferences (`pref.NAME`), whose meanings are in `values`. */
function inFull({ fields, ...map }: Fields, base: Fields): Fields {
  if (!isTable(fields)) return fields === undefined ? map : { fields, ...map }
  const given = Object.entries(fields).filter(([, source]) => source !== null)
  const preferences = given.flatMap(([field, path]) => {
    const name = preferenceName(field)
    return name === undefined ? [] : [{ from: 'field', path, name }]
  })
  const { accepted, ...others } = Object.fromEntries(given.filter(([field]) => preferenceName(field) === undefined))
  const tableOf = (name: string): Fields => (isTable(map[name]) ? map[name] : {})
  const answer = { ...tableOf('accepted'), path: accepted }
  const purposes = [...((map['purposes'] ?? base['purposes'] ?? []) as unknown[]), ...preferences]
  const names = { ...Object.fromEntries(preferences.map(({ name }) => [name, name])), ...tableOf('names') }
  return {
    ...map,
    fields: others,
    ...(accepted !== undefined && {
      accepted: {
        ...answer,
        values: { ...tableOf('values'), ...(tableOf('accepted')['values'] as Fields | undefined) },
      },
    }),
    ...(preferences.length > 0 && { purposes, names }),
  }
}

/** Ids are unique only within a tool. */
function requireSystem({ system }: Fields, path: string): void {
  if (typeof system === 'string' && system.trim() !== '' && system !== 'csv') return
  throw usageError(
    `${path}: "system" must name the tool that wrote the file`,
    'set it, for example to {"system": "acme-crm"}: records are identified by it and by their ids in the file',
  )
}

export function digestOf(map: ImportMap): string {
  return createHash('sha256').update(jcs(map)).digest('hex')
}

function parseMap(given: Fields, path: string | undefined, format: FormatName): ImportMap {
  const { data, error } = ImportMap.safeParse(given)
  if (data) return data
  const issue = error?.issues[0] as z.core.$ZodIssue
  const missing = issue.path.join('.') || 'the map'
  if (path !== undefined) throw usageError(`${path}: ${missing}: ${issue.message}`)
  if (format === 'csv')
    throw usageError('a CSV requires a map of its columns', 'name it with --map; --map-init FILE writes one to edit')
  throw usageError(
    `the files of ${format} do not contain "${missing}": add it to a map`,
    'write it into a file for --map, such as {"accepted": {"rule": "any", "except": ["what everybody gets"]}}',
  )
}

const tables = ['fields', 'names', 'values', 'policy_versions'] as const

function extend(base: Fields, own: Fields): Fields {
  const merged: Record<string, unknown> = { ...base, ...own }
  for (const table of tables) {
    if (isTable(base[table]) && isTable(own[table])) merged[table] = { ...base[table], ...own[table] }
  }
  for (const field of ['event', 'accepted']) {
    const [before, after] = [base[field], own[field]]
    if (isTable(before) && isTable(after)) merged[field] = { ...before, ...after, ...mergedValues(before, after) }
  }
  return merged
}

function mergedValues({ values: before }: Fields, { values: after }: Fields): Fields {
  return isTable(before) && isTable(after) ? { values: { ...before, ...after } } : {}
}

function isTable(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
