import { createHash } from 'node:crypto'
import type { ISql, Sql } from 'postgres'
import { type ImportOrder, OperatorError, type Transferred } from '../../src/contract/index.ts'
import { dbErrorCode } from '../db/errors.ts'
import { lockSchema, schemaVersion } from '../db/migrate.ts'
import {
  type End,
  formatVersion,
  type Header,
  readEnd,
  readHeader,
  readLines,
  readRow,
  type TableName,
  tableNames,
} from './format.ts'
import { configure, countRows, findFilled, insertRows, listColumns, recordImport } from './queries.ts'

interface Row {
  readonly table: TableName
  readonly row: string
  readonly line: number
}

class InvalidExport extends Error {
  readonly hint: string

  constructor(problem: string, hint = 'export it again') {
    super(problem)
    this.hint = hint
  }
}

const maxRows = 1000

const maxText = 1024 * 1024

/**
 * Uses one transaction.
 * @throws OperatorError if nothing was imported
 */
export async function importAll(sql: Sql, { source, name, signal }: ImportOrder, done: Transferred): Promise<void> {
  const work = sql.begin(async tx => {
    await configure(tx)
    await lockSchema(tx)
    await requireEmpty(tx)
    const { header, end } = await insertAll(tx, source, batch => {
      signal.throwIfAborted()
      done.rows += batch.length
      if (batch[0]?.table === 'consents') done.records += batch.length
    })
    await requireCounts(tx, end)
    if (header.without_secrets) done.withoutSecrets = true
    await recordImport(tx, { exportedAt: header.created_at, sha256: end.sha256 })
  })
  await work.catch(error => {
    if (!(error instanceof InvalidExport || error instanceof RangeError)) throw error
    const { hint = 'export it again' } = error as Partial<InvalidExport>
    throw new OperatorError(`nothing of ${name} was imported: ${error.message}`, { code: 'invalid', hint })
  })
}

interface Ends {
  header: Header | null
  end: End | null
}

async function insertAll(
  tx: ISql,
  source: AsyncIterable<Uint8Array>,
  onBatch: (batch: readonly Row[]) => void,
): Promise<{ header: Header; end: End }> {
  const ends: Ends = { header: null, end: null }
  const known = await listColumns(tx)
  let batch: Row[] = []
  let length = 0
  const flush = async () => {
    onBatch(batch)
    await insertBatch(tx, batch, ends.header?.columns ?? {})
    batch = []
    length = 0
  }
  for await (const row of readRows(source, ends, known)) {
    if (!fits(row, batch, length)) await flush()
    batch.push(row)
    length += row.row.length
  }
  await flush()
  return ends as { header: Header; end: End }
}

/** Sets `ends`; the end only if it is the last line and the hash matches. */
async function* readRows(source: AsyncIterable<Uint8Array>, ends: Ends, known: Columns): AsyncGenerator<Row> {
  const hash = createHash('sha256')
  let last = 0
  for await (const { number, bytes } of readLines(source)) {
    if (bytes.at(-1) !== 10) throw new InvalidExport(`it is cut off on line ${number}`)
    if (ends.end) throw new InvalidExport(`it continues after its end, on line ${number}`, 'one export is one file')
    const text = decode(bytes, number)
    last = number
    if (!ends.header) ends.header = requireHeader(text, known)
    else {
      ends.end = readEnd(text)
      if (!ends.end) yield requireRow(text, number)
    }
    if (!ends.end) hash.update(bytes)
  }
  if (!ends.header) throw new InvalidExport('it is empty')
  if (!ends.end) throw new InvalidExport(`it is cut off after line ${last}`)
  if (ends.end.sha256 !== hash.digest('hex')) throw new InvalidExport('it was changed: its SHA-256 does not match')
}

function decode(bytes: Buffer, number: number): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes.subarray(0, -1))
  } catch {
    throw new InvalidExport(`line ${number} is not valid UTF-8`)
  }
}

type Columns = Record<TableName, string[]>

function requireHeader(text: string, known: Columns): Header {
  const header = readHeader(text)
  if (!header) throw new InvalidExport('it is not an export of a database', 'use a file of consentctl admin export')
  const { consentctl_export: version, schema, columns } = header
  if (version !== formatVersion)
    throw new InvalidExport(`it is an export of format ${version}, and this version reads ${formatVersion}`)
  const hint =
    'import it with the version of consentctl that exported it, then upgrade; or export it again with this one'
  if (schema !== schemaVersion)
    throw new InvalidExport(`its schema is ${schema}, and that of this database ${schemaVersion}`, hint)
  const others = Object.keys(columns).filter(table => !(table in known))
  const different = tableNames.filter(table => !isSame(columns[table], known[table]))
  const [table] = [...others, ...different]
  if (table !== undefined) throw new InvalidExport(`its table ${table} has different columns here`, hint)
  return header
}

function isSame(own: readonly string[] = [], known: readonly string[]): boolean {
  return own.length === known.length && known.every(column => own.includes(column))
}

function requireRow(text: string, line: number): Row {
  const row = readRow(text)
  if (!row) throw new InvalidExport(`line ${line} is not a row of a table`)
  return { ...row, line }
}

function fits({ table, row }: Row, batch: readonly Row[], length: number): boolean {
  return batch[0]?.table === table && batch.length < maxRows && length + row.length <= maxText
}

async function insertBatch(tx: ISql, batch: readonly Row[], columns: Header['columns']): Promise<void> {
  const [first, last] = [batch[0], batch.at(-1)]
  if (!first || !last) return
  const { table } = first
  const rows = batch.map(({ row }) => row)
  await insertRows(tx, table, columns[table] ?? [], rows).catch(cause => {
    const code = dbErrorCode(cause) ?? ''
    // PostgreSQL's message may quote rows. A cluster reports errors of its nodes as XX000.
    if (!/^((22|23|54)...|XX000)$/.test(code)) throw cause
    const lines = `lines ${first.line} to ${last.line}`
    throw new InvalidExport(`${lines} cannot be stored as rows of ${table} (SQLSTATE ${code})`)
  })
}

async function requireEmpty(tx: ISql): Promise<void> {
  const table = await findFilled(tx)
  if (table === undefined) return
  throw new OperatorError(`the database is not empty: ${table} has rows`, {
    code: 'conflict',
    hint: 'import into a new one before any server is started on it: createdb, or another --data-dir',
  })
}

async function requireCounts(tx: ISql, { rows }: End): Promise<void> {
  const counts: Readonly<Record<string, number>> = await countRows(tx)
  const wrong = [...tableNames, ...Object.keys(rows)].find(table => counts[table] !== (rows[table] ?? 0))
  if (wrong === undefined) return
  const [exported, arrived] = [rows[wrong] ?? 'no', counts[wrong] ?? 'none']
  throw new InvalidExport(`${exported} rows of ${wrong} were exported, and ${arrived} arrived`)
}
