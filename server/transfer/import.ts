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
  linesOf,
  readEnd,
  readHeader,
  readRow,
  type TableName,
  tableNames,
} from './format.ts'
import { countRows, findFilled, insertRows, listColumns, settle } from './queries.ts'

/** What there is in a line. */
type Entry =
  | { readonly kind: 'header'; readonly header: Header }
  | { readonly kind: 'row'; readonly table: TableName; readonly row: string; readonly line: number }
  | { readonly kind: 'end'; readonly end: End }

/**
 * What is in an export, in its order. The end comes last, and only where it is the end and all before it is as it was
 * written: until then nothing of it may count. Throws an OperatorError for anything else.
 */
async function* entriesOf(source: AsyncIterable<Uint8Array>, name: string): AsyncGenerator<Entry> {
  const hash = createHash('sha256')
  let end: End | null = null
  let last = 0
  for await (const { number, bytes } of wellFormed(source, name)) {
    const text = decode(bytes, number, name)
    last = number
    if (end) throw refused(name, `it goes on after its end, in line ${number}`, 'one export is one file')
    if (number === 1) {
      yield { kind: 'header', header: headerOf(text, name) }
    } else {
      end = readEnd(text)
      const row = end ? null : readRow(text)
      if (row) yield { kind: 'row', ...row, line: number }
      else if (!end) throw refused(name, `line ${number} is no row of a table`)
    }
    if (!end) hash.update(bytes)
  }
  if (last === 0) throw refused(name, 'it is empty')
  if (!end) throw refused(name, `it is cut off after line ${last}`)
  if (end.sha256 !== hash.digest('hex'))
    throw refused(name, 'it is not as it was written: its SHA-256 is another one')
  yield { kind: 'end', end }
}

/** What is wrong with an export. */
function refused(name: string, what: string, hint = 'export it again'): OperatorError {
  return new OperatorError(`nothing of ${name} was imported: ${what}`, { obstacle: 'invalid', hint })
}

function headerOf(text: string, name: string): Header {
  const header = readHeader(text)
  const hint = 'consentctl admin export makes one'
  if (!header) throw refused(name, 'it is no export of a database', hint)
  const { consentctl_export: version } = header
  if (version !== formatVersion)
    throw refused(name, `it is an export of format ${version}, and this version reads ${formatVersion}`)
  return header
}

/** The lines, each of which has an end. */
async function* wellFormed(source: AsyncIterable<Uint8Array>, name: string): AsyncGenerator<Line> {
  try {
    for await (const line of linesOf(source)) {
      if (line.bytes.at(-1) !== 10) throw refused(name, `it is cut off in line ${line.number}`)
      yield line
    }
  } catch (error) {
    throw error instanceof RangeError ? refused(name, error.message) : error
  }
}

function decode(bytes: Buffer, number: number, name: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes.subarray(0, -1))
  } catch {
    throw refused(name, `line ${number} is not valid UTF-8`)
  }
}

/** How many rows, and about how many characters of them, are written in one statement at most. */
const [mostRows, mostText] = [1000, 1024 * 1024]

type Rows = Extract<Entry, { kind: 'row' }>

/**
 * Fills an empty database with an export, in one transaction: all of it is there in the end, with the numbers of rows and
 * the hash that the export names, or nothing is. Throws an OperatorError that says which.
 */
export async function importAll(
  sql: Sql,
  { source, name, signal }: ImportOrder,
  done: Transferred,
): Promise<void> {
  await sql.begin(async tx => {
    await settle(tx)
    await lockSchema(tx) // a node that starts now waits for its end
    await requireEmpty(tx)
    const columns = await listColumns(tx)
    let batch: Rows[] = []
    let length = 0
    const flush = async () => {
      signal.throwIfAborted()
      await insertBatch(tx, batch, columns, name)
      done.rows += batch.length
      if (batch[0]?.table === 'consents') done.records += batch.length
      batch = []
      length = 0
    }
    for await (const entry of entriesOf(source, name)) {
      if (entry.kind === 'header') requireSchema(entry.header, columns, name)
      if (entry.kind === 'row') {
        const isFull = batch.length === mostRows || length + entry.row.length > mostText
        if (isFull || batch[0]?.table !== entry.table) await flush()
        batch.push(entry)
        length += entry.row.length
      }
      if (entry.kind === 'end') {
        await flush()
        await requireCounts(tx, entry.end, name)
      }
    }
  })
}

async function insertBatch(
  tx: ISql,
  batch: readonly Rows[],
  columns: Record<TableName, string[]>,
  name: string,
): Promise<void> {
  const [first, last] = [batch[0], batch.at(-1)]
  if (!first || !last) return
  const { table } = first
  try {
    await insertRows(
      tx,
      table,
      columns[table],
      batch.map(({ row }) => row),
    )
  } catch (cause) {
    const code = dbErrorCode(cause) ?? ''
    // Its own words may hold what is in the rows. A cluster passes on what its nodes say without the code.
    if (!/^((22|23|54)...|XX000)$/.test(code)) throw cause
    throw refused(
      name,
      `lines ${first.line} to ${last.line} cannot be stored as rows of ${table} (SQLSTATE ${code})`,
    )
  }
}

async function requireEmpty(tx: ISql): Promise<void> {
  const table = await findFilled(tx)
  if (table === undefined) return
  throw new OperatorError(`the database is not empty: there are rows in ${table}`, {
    obstacle: 'conflict',
    hint: 'make a new one and import before any server is started on it: createdb, or another --data-dir',
  })
}

function requireSchema(header: Header, columns: Record<TableName, string[]>, name: string): void {
  const hint =
    'export it again with this version of consentctl, which brings that database to its schema first'
  if (header.schema !== schemaVersion)
    throw refused(name, `it is of the schema ${header.schema}, and this is ${schemaVersion}`, hint)
  const sorted = (names: readonly string[] = []) => [...names].sort().join(', ')
  const others = Object.keys(header.columns).filter(table => !(table in columns))
  const different = tableNames.filter(table => sorted(header.columns[table]) !== sorted(columns[table]))
  const [table] = [...others, ...different]
  if (table !== undefined) throw refused(name, `its table ${table} is another one than here`, hint)
}

/** What is there now, whoever wrote it, is what was exported. */
async function requireCounts(tx: ISql, { rows }: End, name: string): Promise<void> {
  const counts = await countRows(tx)
  const wrong = tableNames.find(table => counts[table] !== rows[table])
  if (wrong === undefined) return
  throw refused(name, `${rows[wrong] ?? 'no'} rows of ${wrong} were exported, and ${counts[wrong]} came`)
}
