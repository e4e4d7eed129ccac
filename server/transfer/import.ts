import type { ISql, Sql } from 'postgres'
import { type ImportOrder, OperatorError, type Transferred } from '../../src/contract/index.ts'
import { codeOf } from '../db/errors.ts'
import { lockSchema, schemaVersion } from '../db/migrate.ts'
import type { End, Header } from './format.ts'
import { countRows, findFilled, insertRows, listColumns, settle } from './queries.ts'
import { type Entry, entriesOf, refused } from './read.ts'
import { type TableName, tableNames } from './tables.ts'

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
    const code = codeOf(cause) ?? ''
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
