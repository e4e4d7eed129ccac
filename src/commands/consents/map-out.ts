import { isUtf8 } from 'node:buffer'
import { formatCount } from '../../cli/messages.ts'
import { dataError, usageError } from '../../errors/errors.ts'
import { type Delimiter, fold, type Table, tableOpener } from '../../io/csv.ts'
import { encodingHint, toUtf8 } from '../../io/encoding.ts'
import { readText, splitLines } from '../../io/input.ts'
import type { Io } from '../../io/io.ts'
import { openOutFile } from '../../io/new-file.ts'
import { fieldOf } from './bulk/columns.ts'
import { commonWords } from './bulk/map.ts'
import { readObject } from './fields.ts'
import type { DecidedValue } from './import/prepare/prepared.ts'
import { timeReader } from './import/prepare/time.ts'

const sampledRows = 100

const about = [
  'Says which column is which field. Check every line: columns are guessed by their names and first rows.',
  'A field that is null is not in the file; "pref.NAME" makes a column a preference, for any NAME. Remove columns that are no preferences.',
  'values says what words mean: "yes" or "no". null is not decided.',
]

const aboutImport = [
  ...about,
  '"left_out" is a word that is no answer. system is the name of the tool that wrote the file, such as acme-crm.',
  'origin_id is the person, device or form. All rows with the same one become one record with its later answers.',
  'consentctl help import explains every word.',
]

export interface WrittenMap {
  readonly fields: Readonly<Record<string, string | null>>
  readonly values: Readonly<Record<string, 'yes' | 'no' | null>>
  readonly notUsed: readonly string[]
  readonly rows: number
}

interface MapOut {
  readonly name: string
  readonly chunks: AsyncIterable<Buffer>
  readonly delimiter?: Delimiter | undefined
  readonly encoding?: string | undefined
  readonly path: string
  readonly fields: readonly string[]
  /** Also writes times and persons, without guessing the meaning of values. */
  readonly isImport: boolean
}

/** From the header and the first 100 rows. @throws UsageError if `path` exists, or without a header */
export async function writeMap({ path, fields, isImport, ...source }: MapOut): Promise<WrittenMap> {
  const out = await openOutFile(path, '--map-out')
  try {
    const { samples, rows } = await readSamples({ ...source, isImport }, fields)
    const { notUsed, ...map } = makeMap(samples, fields, isImport, source.encoding)
    await out.write(`${JSON.stringify(map, null, 2)}\n`)
    await out.commit()
    return { ...map, notUsed, rows }
  } finally {
    await out.abandon(false)
  }
}

export function describeMap({ fields, values, notUsed, rows }: WrittenMap, path: string, name: string): string[] {
  const columns = Object.entries(fields).flatMap(([field, column]) =>
    column === null ? [] : [`  ${field}: ${column}`],
  )
  const undecided = Object.entries(values).flatMap(([word, meaning]) => (meaning === null ? [word] : []))
  return [
    `wrote ${path}, by the header and ${formatCount(rows, 'row')} of ${name}`,
    ...columns,
    ...(notUsed.length > 0 ? [`  not used: ${notUsed.join(', ')}`] : []),
    ...(undecided.length > 0 ? [`  neither yes nor no: ${undecided.join(', ')}`] : []),
  ]
}

async function readSamples(
  { name, chunks, delimiter, encoding, isImport }: Omit<MapOut, 'path' | 'fields'>,
  fields: readonly string[],
) {
  const openTable = tableOpener({ delimiter, isKnown: column => fieldOf(column, fields) !== undefined })
  let table: Table | null = null
  const rows: (readonly string[])[] = []
  for await (const line of splitLines(toUtf8(chunks, name, encoding), name, { quoted: true })) {
    if (isImport && !isUtf8(line.bytes)) throw dataError(`${name}: line ${line.number} is not UTF-8`, encodingHint)
    const [row] = table?.cellsOfAll([line]) ?? []
    if (row && !(row instanceof Error)) rows.push(row)
    table ??= await openTable([line])
    if (rows.length === sampledRows) break
  }
  if (!table) throw usageError(`${name} has no header`)
  const samples = table.header.map((column, index) => ({ column, cells: rows.map(row => row[index] ?? '') }))
  return { samples, rows: rows.length }
}

function makeMap(samples: readonly Sample[], fields: readonly string[], isImport: boolean, encoding?: string) {
  const named = samples.filter(({ column }) => !purposePrefix.test(column))
  const origin = isImport ? byName(named, 'origin_id') : undefined
  const guessed = guessFields(
    named.filter(sample => sample !== origin),
    fields,
  )
  const time = isImport
    ? findTime(samples.filter(sample => sample !== origin && !Object.values(guessed).includes(sample.column)))
    : null
  const taken = [origin?.column, time?.column, ...Object.values(guessed)]
  const others = samples.filter(({ column }) => column.trim() !== '' && !taken.includes(column))
  const preferences = others.filter(sample => isPreference(sample, isImport))
  const answered = samples.filter(({ column }) => column === guessed['accepted'])
  const words = new Set([...answered, ...preferences].flatMap(({ cells }) => filled(cells)))
  const notUsed = others.filter(sample => !preferences.includes(sample)).map(({ column }) => column)
  const found = {
    ...Object.fromEntries(fields.map(field => [field, null])),
    ...guessed,
    ...Object.fromEntries(
      preferences.map(({ column }) => [`pref.${column.replace(purposePrefix, '') || column}`, column]),
    ),
  }
  const values = Object.fromEntries([...words].map(word => [word, isImport ? null : meaningOf(word)]))
  const unused = `Not used: ${notUsed.join(', ') || 'no column'}.`
  if (!isImport) return { about: [...about, unused], fields: found, values, notUsed }
  return {
    about: [...aboutImport, unused],
    system: '',
    container: { kind: 'csv', encoding },
    rows: 'answer',
    fields: { origin_id: origin?.column ?? guessed['subject_id'] ?? '', given_at: time?.column ?? '', ...found },
    time: { formats: [time?.format ?? 'YYYY-MM-DD HH:mm:ss'] },
    ...(guessed['accepted'] === undefined && { accepted: { rule: 'any' } }),
    values,
    notUsed,
  }
}

const purposePrefix = /^purposes?\s*:\s*/i

/** An import stops at an unknown value, so it may guess more. Otherwise "no" could be a language. */
function isPreference({ column, cells }: Sample, isImport: boolean): boolean {
  const words = [...new Set(filled(cells))]
  const isAnswered = isImport ? words.some(isYesOrNo) : words.every(isYesOrNo)
  return (
    words.length > 0 &&
    words.length <= maxWords &&
    !negative.test(simplify(column)) &&
    (purposePrefix.test(column) || isAnswered)
  )
}

function meaningOf(word: string): 'yes' | 'no' | null {
  const meaning = commonWords(word)
  return meaning === undefined ? null : meaning ? 'yes' : 'no'
}

const dates = ['DD/MM/YYYY', 'MM/DD/YYYY', 'D/M/YYYY', 'M/D/YYYY', 'DD.MM.YYYY', 'D.M.YYYY', 'DD-MM-YYYY', 'MM-DD-YYYY']
const clocks = ['HH:mm', 'HH:mm:ss', 'H:mm', 'h:mm A', 'h:mm:ss A']

const timeFormats = [
  'rfc3339',
  'YYYY-MM-DD HH:mm:ss',
  'YYYY-MM-DD HH:mm',
  'YYYY-MM-DD HH:mm:ss Z',
  'YYYY-MM-DDTHH:mm:ss',
  'epoch_s',
  'epoch_ms',
  ...dates.flatMap(date => clocks.map(clock => `${date} ${clock}`)),
]

const plausible = { from: Date.UTC(1990, 0, 1), to: Date.UTC(2100, 0, 1) } as const

function findTime(samples: readonly Sample[]) {
  const preferred = byName(samples, 'given_at')
  for (const { column, cells } of preferred ? [preferred] : samples) {
    const format = timeFormatOf(filled(cells))
    if (format !== null || preferred) return { column, format: format ?? 'YYYY-MM-DD HH:mm:ss' }
  }
  return null
}

/** Null if no format reads all; `A or B`, which no import accepts, if they differ about the order of day and month. */
function timeFormatOf(cells: readonly string[]): string | null {
  const isPlausible = (at: number) => at >= plausible.from && at < plausible.to
  const formats = new Map<string, string>()
  for (const format of cells.length > 0 ? timeFormats : []) {
    const read = timeReader({ formats: [format], zone: 'UTC', repeatedHour: 'earlier' })
    const times = cells.map(read)
    if (!times.every(at => typeof at === 'number' && isPlausible(at))) continue
    const meaning = times.join()
    if (!formats.has(meaning)) formats.set(meaning, format)
  }
  return formats.size === 0 ? null : [...formats.values()].join(' or ')
}

type Fields = Record<string, unknown>

/** Adds `null` for each undecided value to the map. @throws UsageError if `path` exists */
export async function writeUndecided(
  io: Io,
  values: readonly DecidedValue[],
  { path, map }: { readonly path: string; readonly map: string | undefined },
): Promise<void> {
  const file = await openOutFile(path, '--map-out')
  try {
    const written: Fields = map === undefined ? {} : { ...readObject(await readText(io, map), map) }
    for (const { table, value } of values) tableOf(written, table)[value] = null
    await file.write(`${JSON.stringify(written, null, 2)}\n`)
    await file.commit()
  } finally {
    await file.abandon(false)
  }
}

function tableOf(map: Fields, table: DecidedValue['table']): Fields {
  const isNested = table === 'event' || table === 'accepted'
  const holder = isNested ? copyOf(map, table) : map
  return copyOf(holder, isNested ? 'values' : table)
}

function copyOf(holder: Fields, name: string): Fields {
  const copy = { ...(holder[name] as Fields | undefined) }
  holder[name] = copy
  return copy
}

interface Sample {
  readonly column: string
  readonly cells: readonly string[]
}

/** Columns with more distinct words do not hold answers. */
const maxWords = 12

/** Compares without accents and punctuation, in order of preference. */
const names: Readonly<Record<string, string>> = {
  origin_id:
    'key, consent key, consent id, consentid, receipt, receipt id, record id, visitor id, user id, uuid, guid, id, schlussel, ' +
    'cle, clave, chiave, chave, sleutel, nyckel, nøgle, nøkkel, avain, klucz, klic',
  given_at:
    'consent date, consent time, consent timestamp, consented at, given at, opt in time, optin time, date time, datetime, ' +
    'timestamp, date, time, created at, created, create date, submitted at, zeitstempel, zeitpunkt, datum, datum und uhrzeit, ' +
    'erstellt am, horodatage, date et heure, cree le, fecha y hora, fecha, marca de tiempo, data e ora, data e hora, data, ' +
    'datum en tijd, tijdstip, datum och tid, tidpunkt, dato og tid, dato, tidspunkt, paivamaara, aika, pvm, ' +
    'data i godzina, data i czas, datum a cas, cas',
  subject_id:
    'email, e mail, mail, email address, e mail address, email adresse, e mail adresse, mailadresse, emailadresse, ' +
    'adresse email, adresse e mail, courriel, correo, correo electronico, indirizzo email, posta elettronica, e mailadres, ' +
    'email adres, e postadress, e post, epost, sahkoposti, adres email, adres e mail, subject, data subject, ' +
    'customer id, customer number, customer, user id, member id, kundennummer, kunden nr, numero client, klantnummer',
  accepted:
    'consent, consent status, consent given, opt in, optin, opt in status, granted, einwilligung, zustimmung, einverstanden, ' +
    'consentement, accepte, consentimiento, aceptado, consenso, consentimento, toestemming, samtycke, samtykke, suostumus, ' +
    'zgoda, souhlas, akzeptiert, status, statut, estado, stato, tila, stav, answer, antwort, response, decision',
  policy_version: 'policy, policy version, version, richtlinie, richtlinienversion, version de la politique',
  ip_address: 'ip, ip adresse, adresse ip, direccion ip, indirizzo ip, ip adres, client ip, remote addr',
  user_agent: 'useragent, browser',
  consent_id: 'label, consent label',
}

function guessFields(samples: readonly Sample[], fields: readonly string[]): Record<string, string> {
  const guessed: Record<string, string> = {}
  const isFree = ({ column }: Sample) => !Object.values(guessed).includes(column)
  for (const { column } of samples) {
    const field = fieldOf(column, fields)
    if (field !== undefined && !Object.hasOwn(guessed, field)) guessed[field] = column
  }
  for (const field of fields.filter(each => !Object.hasOwn(guessed, each))) {
    const sample = byName(samples.filter(isFree), field) ?? byCells(samples.filter(isFree), field)
    if (sample) guessed[field] = sample.column
  }
  return guessed
}

function byName(samples: readonly Sample[], field: string): Sample | undefined {
  const known = names[field]?.split(', ') ?? []
  const found = samples.filter(sample => known.includes(simplify(sample.column)) && fits(sample, field))
  return found.sort((a, b) => known.indexOf(simplify(a.column)) - known.indexOf(simplify(b.column)))[0]
}

/** Only if no other column looks like this field. */
function byCells(samples: readonly Sample[], field: string): Sample | undefined {
  const looks = cellsOf[field]
  const isLike = (sample: Sample) => fits(sample, field) && filled(sample.cells).length > 0
  const found = looks ? samples.filter(sample => isLike(sample) && filled(sample.cells).every(looks)) : []
  return found.length === 1 ? found[0] : undefined
}

const cellsOf: Readonly<Record<string, (cell: string) => boolean>> = {
  subject_id: cell => /^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(cell.trim()),
  accepted: isYesOrNo,
}

/** Numbers can have any meaning. */
function isYesOrNo(cell: string): boolean {
  return commonWords(cell) !== undefined && !/\d/.test(cell)
}

/** Columns whose yes is a no, such as `Unsubscribed`. */
const negative =
  /unsubscri|opted? ?out|blacklist|blocklist|abgemeldet|widerruf|desabon|desinscri|baja|disiscri|cancelad|uitgeschreven|afgemeld|avregistre|avmeldt|afmeldt|peruutet|wypisan|odhlasen/

function fits({ column, cells }: Sample, field: string): boolean {
  if (field === 'accepted' && negative.test(simplify(column))) return false
  if (field === 'policy_version') return filled(cells).every(cell => /^\d{1,10}$/.test(cell))
  if (field === 'origin_id') return cells.length > 0 && cells.every(cell => cell.trim() !== '')
  return field !== 'accepted' || new Set(filled(cells).map(fold)).size <= maxWords
}

function filled(cells: readonly string[]): readonly string[] {
  return cells.filter(cell => cell !== '')
}

function simplify(name: string): string {
  const letters = fold(name).normalize('NFD').replace(/\p{M}/gu, '')
  return letters.replace(/[^\p{L}\p{N}]+/gu, ' ').trim()
}
