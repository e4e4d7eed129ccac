import { formatCount, quoteForShell } from '../../../cli/messages.ts'
import type { Context } from '../../../context.ts'
import { usageError } from '../../../errors/errors.ts'
import { type Delimiter, openTable, readSeparator, type Table } from '../../../io/csv.ts'
import { toUtf8 } from '../../../io/encoding.ts'
import { type Line, nameOf, readChunks, splitLines } from '../../../io/input.ts'
import { openOutFile } from '../../../io/new-file.ts'
import { fieldOf } from './columns.ts'
import { filled, guessFields, isYesOrNo, type Sample } from './guesses.ts'
import { formatOf, type LineFormat, type LineKind } from './lines.ts'
import { commonWords, fold } from './words.ts'

const sampledRows = 100

const about = [
  'Says which column of the file is which field of a record. Move the name of a column from "not_used" to its field;',
  'null is a field that the file does not have. "pref.NAME" makes a column a preference, for any NAME.',
  '"true" and "false" are words for yes and no, in "accepted" and in preferences. Move the words of "undecided" there.',
]

interface MapInit {
  readonly file: string
  readonly format: LineFormat | undefined
  readonly path: string
}

/** From the header and the first 100 rows. @throws UsageError if `path` exists, or for NDJSON */
export async function writeMap(ctx: Context, kind: LineKind<unknown>, { file, path, ...flags }: MapInit) {
  const format = flags.format ?? formatOf(file)
  if (format === 'ndjson')
    throw usageError('--map-init is for CSV and TSV', 'if the file is one of these: --format csv')
  const out = await openOutFile(path, '--map-init')
  try {
    const { samples, rows } = await readSamples(ctx, kind, file, format)
    const map = makeMap(samples, kind.fields)
    await out.write(`${JSON.stringify({ about, ...map }, null, 2)}\n`)
    await out.commit()
    await ctx.say(`wrote ${path}, by the header and ${formatCount(rows, 'row')} of ${nameOf(file)}`)
    await tellMap(ctx, map)
    const command = ['consentctl', 'create', '--file', file, '--map', path, '--dry-run'].map(quoteForShell).join(' ')
    await ctx.say(`edit it, then: ${command}`)
  } catch (error) {
    await out.abandon(false)
    throw error
  }
}

async function readSamples(ctx: Context, { fields }: LineKind<unknown>, file: string, format: LineFormat) {
  let delimiter: Delimiter | undefined = format === 'tsv' ? '\t' : undefined
  let table: Table | null = null
  const rows: (readonly string[])[] = []
  const name = nameOf(file)
  for await (const line of splitLines(toUtf8(readChunks(ctx.io, file), name), name, { quoted: true })) {
    const separator: Delimiter | undefined = table ? undefined : readSeparator(line)
    if (separator) delimiter = separator
    else if (table) rows.push(...cellsOf(table, line))
    else table = await openTable(line, delimiter, name => fieldOf(name, fields) !== undefined)
    if (rows.length === sampledRows) break
  }
  if (!table) throw usageError(`${name} has no header`)
  const samples = table.header.map((column, index) => ({ column, cells: rows.map(row => row[index] ?? '') }))
  return { samples, rows: rows.length }
}

/** Skips invalid rows. */
function cellsOf({ cells, header }: Table, line: Line): (readonly string[])[] {
  try {
    const row = cells(line)
    return row.length === header.length ? [row] : []
  } catch {
    return []
  }
}

function makeMap(samples: readonly Sample[], fields: readonly string[]) {
  const guessed = guessFields(samples, fields)
  const isGuessed = (column: string) => Object.values(guessed).includes(column)
  const others = samples.filter(({ column }) => !isGuessed(column))
  const hasPreference = Object.keys(guessed).some(field => field.startsWith('pref.'))
  const example = fields.includes('preferences') && !hasPreference ? { 'pref.marketing': null } : {}
  const nulls = Object.fromEntries(fields.map(field => [field, null]))
  const answered = samples.filter(({ column }) => column === guessed['accepted'])
  const alike = others.filter(({ cells }) => filled(cells).every(isYesOrNo))
  const words = distinctWords([...answered, ...alike])
  return {
    fields: { ...nulls, ...guessed, ...example } as Record<string, string | null>,
    not_used: others.map(({ column }) => column).filter(column => column.trim() !== ''),
    true: words.filter(word => commonWords(word) === true),
    false: words.filter(word => commonWords(word) === false),
    undecided: distinctWords(answered).filter(word => commonWords(word) === undefined),
  }
}

/** In file order, with the first spelling. */
function distinctWords(samples: readonly Sample[]): string[] {
  const words = new Map<string, string>()
  for (const cell of samples.flatMap(({ cells }) => cells))
    if (cell.trim() !== '' && !words.has(fold(cell))) words.set(fold(cell), cell.trim())
  return [...words.values()]
}

async function tellMap(ctx: Context, { fields, not_used, undecided }: ReturnType<typeof makeMap>): Promise<void> {
  for (const [field, column] of Object.entries(fields)) if (column !== null) await ctx.say(`  ${field}: ${column}`)
  if (not_used.length > 0) await ctx.say(`  not used: ${not_used.join(', ')}`)
  if (undecided.length > 0) await ctx.warn(`neither a yes nor a no: ${undecided.join(', ')}`)
  if (fields['accepted'] === null) await ctx.warn('no column looks like the answer: map one to "accepted"')
}
