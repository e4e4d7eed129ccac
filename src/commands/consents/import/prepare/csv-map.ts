import { usageError } from '../../../../errors/errors.ts'
import { type Delimiter, openTable, readSeparator, type Table } from '../../../../io/csv.ts'
import { toUtf8 } from '../../../../io/encoding.ts'
import { type Line, splitLines } from '../../../../io/input.ts'
import { openOutFile } from '../../../../io/new-file.ts'
import { filled, guessFields, isYesOrNo, maxWords, type Sample } from '../../bulk/guesses.ts'
import { openSource, type Part } from './source.ts'
import { timeReader } from './time.ts'

const sampledRows = 100

const about = [
  'Says what the rows of the file mean. Check every line: columns are guessed by their names and first rows.',
  'null is not decided: write "yes", "no" or "left_out" for a value, and a name or false for a purpose.',
  'system is the name of the tool that wrote the file, such as acme-crm: it tells its ids from those of other tools.',
  'origin_id is the person, device or form. All rows with the same one become one record with its later answers.',
]

const guessed = ['subject_id', 'consent_id', 'policy_version', 'ip_address', 'user_agent', 'accepted']

/** From the header and the first 100 rows. @throws UsageError if `path` exists */
export async function writeCsvMap(file: string, path: string, signal: AbortSignal): Promise<void> {
  const out = await openOutFile(path, '--map-out')
  try {
    const samples = await readSamples(file, signal)
    await out.write(`${JSON.stringify(makeMap(samples), null, 2)}\n`)
    await out.commit()
  } catch (error) {
    await out.abandon(false)
    throw error
  }
}

async function readSamples(file: string, signal: AbortSignal): Promise<Sample[]> {
  const source = await openSource(file, signal)
  try {
    for await (const part of source.parts(undefined)) return await samplePart(part)
    throw usageError(`${file} has no header`)
  } finally {
    await source.close()
  }
}

async function samplePart({ name, chunks }: Part): Promise<Sample[]> {
  let delimiter: Delimiter | undefined
  let table: Table | null = null
  const rows: (readonly string[])[] = []
  for await (const line of splitLines(toUtf8(chunks, name), name, { quoted: true })) {
    const separator: Delimiter | undefined = table ? undefined : readSeparator(line)
    if (separator) delimiter = separator
    else if (table) rows.push(...wholeRow(table, line))
    else table = await openTable(line, delimiter, () => false)
    if (rows.length === sampledRows) break
  }
  if (!table) throw usageError(`${name} has no header`)
  return table.header.map((column, index) => ({ column, cells: rows.map(row => row[index] ?? '') }))
}

function wholeRow(table: Table, line: Line): (readonly string[])[] {
  const row = table.cellsOfAll([line])?.[0]
  return row?.length === table.header.length ? [row] : []
}

function makeMap(samples: readonly Sample[]) {
  const { accepted, ...fields } = guessFields(
    samples.filter(({ column }) => !purposePrefix.test(column)),
    guessed,
  )
  const time = findTime(samples.filter(({ column }) => !Object.values(fields).includes(column)))
  const taken = [accepted, time?.column, ...Object.values(fields)]
  const others = samples.filter(({ column }) => column.trim() !== '' && !taken.includes(column))
  const answers = others.filter(isPurpose)
  const purposes = answers.map(({ column }) => ({ from: 'field', path: column }))
  const words = (chosen: readonly Sample[]) =>
    Object.fromEntries(chosen.flatMap(({ cells }) => filled(cells)).map(word => [word, null]))
  const notUsed = others.filter(sample => !answers.includes(sample)).map(({ column }) => column)
  return {
    about: [...about, ...answers.flatMap(tellUnnamed), `Not used: ${notUsed.join(', ') || 'no column'}.`],
    system: '',
    container: { kind: 'csv' },
    rows: 'answer',
    fields: { origin_id: fields['subject_id'] ?? '', given_at: time?.column ?? '', ...fields },
    time: { formats: [time?.format ?? 'YYYY-MM-DD HH:mm:ss'] },
    accepted:
      accepted === undefined
        ? { rule: 'any' }
        : { path: accepted, values: words(samples.filter(({ column }) => column === accepted)) },
    purposes,
    names: Object.fromEntries(answers.map(suggestName)),
    values: words(answers),
  }
}

const purposePrefix = /^purposes?\s*:\s*/i

function isPurpose({ column, cells }: Sample): boolean {
  const words = new Set(filled(cells))
  return words.size > 0 && words.size <= maxWords && (purposePrefix.test(column) || [...words].some(isYesOrNo))
}

/** Null if a column has other words: it may not be a purpose. */
function suggestName({ column, cells }: Sample): [column: string, name: string | null] {
  return [column, filled(cells).every(isYesOrNo) ? column.replace(purposePrefix, '') || column : null]
}

/** Why a name is left to the user. */
function tellUnnamed({ column, cells }: Sample): string[] {
  const other = filled(cells).find(cell => !isYesOrNo(cell))
  if (other === undefined) return []
  return [
    `The name of ${column} is null, because it has "${other}", which is neither yes nor no: it may not be a purpose.`,
  ]
}

/** Without ambiguous orders of day and month. */
const timeFormats = [
  'rfc3339',
  'YYYY-MM-DD HH:mm:ss',
  'YYYY-MM-DD HH:mm:ss Z',
  'YYYY-MM-DDTHH:mm:ss',
  'epoch_s',
  'epoch_ms',
]

const plausible = { from: Date.UTC(1990, 0, 1), to: Date.UTC(2100, 0, 1) } as const

function findTime(samples: readonly Sample[]) {
  for (const format of timeFormats) {
    const read = timeReader({ formats: [format], zone: 'UTC', repeatedHour: 'earlier' })
    const isTime = (cell: string) => {
      const at = read(cell)
      return typeof at === 'number' && at >= plausible.from && at < plausible.to
    }
    const found = samples.find(({ cells }) => filled(cells).length > 0 && filled(cells).every(isTime))
    if (found) return { column: found.column, format }
  }
  return null
}
