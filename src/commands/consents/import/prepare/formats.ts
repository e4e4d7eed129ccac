import { createHash } from 'node:crypto'
import type * as z from 'zod'
import { usageError } from '../../../../errors/errors.ts'
import { jcs } from '../../../../evidence/canonical.ts'
import { readText } from '../../../../io/input.ts'
import type { Io } from '../../../../io/io.ts'
import { readObject } from '../../fields.ts'
import { ImportMap } from './map.ts'
import { describeIssue, explainIssue } from './map-errors.ts'

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
  onetrust: () => import('../formats/onetrust.json', { with: { type: 'json' } }),
  cookiebot: () => import('../formats/cookiebot.json', { with: { type: 'json' } }),
  cookieyes: () => import('../formats/cookieyes.json', { with: { type: 'json' } }),
  complianz: () => import('../formats/complianz.json', { with: { type: 'json' } }),
  mailchimp: () => import('../formats/mailchimp.json', { with: { type: 'json' } }),
  hubspot: () => import('../formats/hubspot.json', { with: { type: 'json' } }),
  klaviyo: () => import('../formats/klaviyo.json', { with: { type: 'json' } }),
  brevo: () => import('../formats/brevo.json', { with: { type: 'json' } }),
  csv: () => import('../formats/csv.json', { with: { type: 'json' } }),
} satisfies Record<string, () => Promise<{ readonly default: object }>>

export type FormatName = keyof typeof formats

export const formatNames = Object.keys(formats) as FormatName[]

interface Own {
  /** Path of `--map`. */
  readonly map: string | undefined
  readonly encoding: string | undefined
}

/** The format's map, extended by `--map` and `--encoding`. @throws UsageError if that is unreadable or the result invalid */
export async function loadMap(io: Io, format: FormatName, { map: path, encoding }: Own): Promise<ImportMap> {
  const base: Fields = (await formats[format]()).default
  const own = path === undefined ? {} : readObject(await readText(io, path), path)
  if (format === 'csv' && path !== undefined) requireSystem(own, path)
  const map = extend(base, own)
  const container = { ...(map['container'] as Fields | undefined), encoding }
  return parseMap(encoding === undefined ? map : { ...map, container }, path, format)
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
  const { data, error } = ImportMap.safeParse(given, { error: describeIssue })
  if (data) return data
  const { issues } = error as z.core.$ZodError
  // A word that is misspelt is missing, too.
  const issue = (issues.find(({ code }) => code === 'unrecognized_keys') ?? issues[0]) as z.core.$ZodIssue
  if (path !== undefined) throw usageError(`${path}: ${explainIssue(issue, given)}`, 'see consentctl help import')
  if (format === 'csv')
    throw usageError('a CSV requires a map of its columns', 'name it with --map; --map-out FILE writes one to edit')
  throw usageError(
    `the files of ${format} do not contain "${issue.path.join('.')}": add it to a map`,
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
