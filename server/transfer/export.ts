import { createHash } from 'node:crypto'
import type { Sql } from 'postgres'
import type { ExportOrder, Transferred } from '../../src/contract/index.ts'
import { schemaVersion } from '../db/migrate.ts'
import { endLine, headerLine, rowLine, tableNames } from './format.ts'
import { configure, listColumns, readRows } from './queries.ts'

/** Uses constant memory. */
export async function exportAll(
  sql: Sql,
  { write, signal, withoutSecrets = false }: ExportOrder,
  done: Transferred,
): Promise<void> {
  const hash = createHash('sha256')
  const put = async (text: string) => {
    signal.throwIfAborted()
    hash.update(text)
    await write(text)
  }
  await sql.begin(async tx => {
    await tx`set transaction isolation level repeatable read, read only`
    await configure(tx)
    const columns = await listColumns(tx)
    const created_at = new Date().toISOString()
    await put(headerLine({ schema: schemaVersion, created_at, without_secrets: withoutSecrets, columns }))
    const rows: Record<string, number> = {}
    for (const table of tableNames) {
      let count = 0
      for await (const page of readRows(tx, table, withoutSecrets)) {
        await put(page.map(row => rowLine(table, row)).join(''))
        count += page.length
        done.rows += page.length
        if (table === 'consents') done.records += page.length
      }
      rows[table] = count
    }
    await write(endLine({ rows, sha256: hash.digest('hex') }))
  })
}
