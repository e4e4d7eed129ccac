import { createHash } from 'node:crypto'
import type { ISql, Sql } from 'postgres'
import { type ImportOrder, OperatorError, type Transferred } from '../../src/contract/index.ts'
import { dbErrorCode } from '../db/errors.ts'
import { lockSchema, schemaVersion } from '../db/migrate.ts'
import {
  type End,
  formatVersion,
  type Header,
  type Line,
  readEnd,
  readHeader,
  readLines,
  readRow,
  type TableName,
  tableNames,
} from './format.ts'
import { configure, countRows, findFilled, insertRows, listColumns, recordImport } from './queries.ts'

type Entry =
  | { readonly kind: 'header'; readonly header: Header }
  | { readonly kind: 'row'; readonly table: TableName; readonly row: string; readonly line: number }
  | { readonly kind: 'end'; readonly end: End }

type Row = Extract<Entry, { kind: 'row' }>

/**
 * Yields the end only if it is the last line and the hash matches.
 * @throws OperatorError for an invalid export
 */
async function* readEntries(source: AsyncIterable<Uint8Array>, name: string): AsyncGenerator<Entry> {
  const hash = createHash('sha256')
  let end: End | null = null
  let last = 0
  for await (const { number, bytes } of readWholeLines(source, name)) {
    const text = decode(bytes, number, name)
    last = number
    if (end) throw invalidExport(name, `it continues after its end, in line ${number}`, 'one export is one file')
    if (number === 1) {
      yield { kind: 'header', header: requireHeader(text, name) }
    } else {
      end = readEnd(text)
      if (!end) yield requireRow(text, number, name)
    }
    if (!end) hash.update(bytes)
  }
  yield { kind: 'end', end: requireEnd(end, { last, sha256: hash.digest('hex'), name }) }
}

function requireEnd(end: End | null, read: { last: number; sha256: string; name: string }): End {
  if (read.last === 0) throw invalidExport(read.name, 'it is empty')
  if (!end) throw invalidExport(read.name, `it is cut off after line ${read.last}`)
  if (end.sha256 !== read.sha256) throw invalidExport(read.name, 'it was changed: its SHA-256 does not match')
  return end
}

function invalidExport(name: string, what: string, hint = 'export it again'): OperatorError {
  return new OperatorError(`nothing of ${name} was imported: ${what}`, { code: 'invalid', hint })
}

function requireHeader(text: string, name: string): Header {
  const header = readHeader(text)
  const hint = 'use a file of consentctl admin export'
  if (!header) throw invalidExport(name, 'it is not an export of a database', hint)
  const { consentctl_export: version } = header
  if (version !== formatVersion)
    throw invalidExport(name, `it is an export of format ${version}, and this version reads ${formatVersion}`)
  return header
}

function requireRow(text: string, line: number, name: string): Row {
  const row = readRow(text)
  if (!row) throw invalidExport(name, `line ${line} is not a row of a table`)
  return { kind: 'row', ...row, line }
}

async function* readWholeLines(source: AsyncIterable<Uint8Array>, name: string): AsyncGenerator<Line> {
  try {
    for await (const line of readLines(source)) {
      if (line.bytes.at(-1) !== 10) throw invalidExport(name, `it is cut off in line ${line.number}`)
      yield line
    }
  } catch (error) {
    throw error instanceof RangeError ? invalidExport(name, error.message) : error
  }
}

function decode(bytes: Buffer, number: number, name: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes.subarray(0, -1))
  } catch {
    throw invalidExport(name, `line ${number} is not valid UTF-8`)
  }
}

const maxRows = 1000

const maxText = 1024 * 1024

/**
 * Uses one transaction.
 * @throws OperatorError if nothing was imported
 */
export async function importAll(sql: Sql, { source, name, signal }: ImportOrder, done: Transferred): Promise<void> {
  await sql.begin(async tx => {
    await configure(tx)
    await lockSchema(tx)
    await requireEmpty(tx)
    const known = await listColumns(tx)
    let exportedAt = ''
    let columns: Columns = {}
    let batch: Row[] = []
    let length = 0
    const flush = async () => {
      signal.throwIfAborted()
      await insertBatch(tx, batch, columns, name)
      done.rows += batch.length
      if (batch[0]?.table === 'consents') done.records += batch.length
      batch = []
      length = 0
    }
    for await (const entry of readEntries(source, name)) {
      if (entry.kind === 'header') {
        exportedAt = entry.header.created_at
        columns = requireSchema(entry.header, known, name)
      }
      if (entry.kind === 'row') {
        if (!fits(entry, batch, length)) await flush()
        batch.push(entry)
        length += entry.row.length
      }
      if (entry.kind === 'end') {
        await flush()
        await requireCounts(tx, entry.end, name)
        await recordImport(tx, { exportedAt, sha256: entry.end.sha256 })
      }
    }
  })
}

function fits({ table, row }: Row, batch: readonly Row[], length: number): boolean {
  return batch[0]?.table === table && batch.length < maxRows && length + row.length <= maxText
}

async function insertBatch(tx: ISql, batch: readonly Row[], columns: Columns, name: string): Promise<void> {
  const [first, last] = [batch[0], batch.at(-1)]
  if (!first || !last) return
  const { table } = first
  try {
    await insertRows(
      tx,
      table,
      columns[table] ?? [],
      batch.map(({ row }) => row),
    )
  } catch (cause) {
    const code = dbErrorCode(cause) ?? ''
    // PostgreSQL's message may quote rows. A cluster reports errors of its nodes as XX000.
    if (!/^((22|23|54)...|XX000)$/.test(code)) throw cause
    throw invalidExport(
      name,
      `lines ${first.line} to ${last.line} cannot be stored as rows of ${table} (SQLSTATE ${code})`,
    )
  }
}

async function requireEmpty(tx: ISql): Promise<void> {
  const table = await findFilled(tx)
  if (table === undefined) return
  throw new OperatorError(`the database is not empty: ${table} has rows`, {
    code: 'conflict',
    hint: 'import into a new one before any server is started on it: createdb, or another --data-dir',
  })
}

type Columns = Readonly<Record<string, readonly string[]>>

/** Returns the export's columns. @throws OperatorError if this database lacks one */
function requireSchema({ schema, columns }: Header, known: Record<TableName, string[]>, name: string): Columns {
  const hint =
    'import it with the version of consentctl that exported it, then upgrade; or export it again with this one'
  if (schema !== schemaVersion)
    throw invalidExport(name, `its schema is ${schema}, and that of this database ${schemaVersion}`, hint)
  const others = Object.keys(columns).filter(table => !(table in known))
  const different = tableNames.filter(table => !isSame(columns[table], known[table]))
  const [table] = [...others, ...different]
  if (table !== undefined) throw invalidExport(name, `its table ${table} has different columns here`, hint)
  return columns
}

function isSame(own: readonly string[] = [], known: readonly string[]): boolean {
  return own.length === known.length && known.every(column => own.includes(column))
}

async function requireCounts(tx: ISql, { rows }: End, name: string): Promise<void> {
  const counts: Readonly<Record<string, number>> = await countRows(tx)
  const wrong = [...tableNames, ...Object.keys(rows)].find(table => counts[table] !== (rows[table] ?? 0))
  if (wrong === undefined) return
  throw invalidExport(
    name,
    `${rows[wrong] ?? 'no'} rows of ${wrong} were exported, and ${counts[wrong] ?? 'none'} arrived`,
  )
}
