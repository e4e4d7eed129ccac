import type { Sql } from 'postgres'
import { exportAll } from '../../../server/transfer/export.ts'
import { tableNames } from '../../../server/transfer/format.ts'
import { importAll } from '../../../server/transfer/import.ts'

/** Never aborted. */
const { signal } = new AbortController()

/** The text of an export; `meanwhile` is done at each piece of it. */
export async function exportText(sql: Sql, meanwhile = async () => {}, withoutSecrets = false): Promise<string> {
  let text = ''
  const write = async (piece: string) => {
    text += piece
    await meanwhile()
  }
  await exportAll(sql, { write, signal, withoutSecrets }, { rows: 0, records: 0 })
  return text
}

/** Imports bytes in chunks of `piece`. Resolves to the error, else to the amount that was imported. */
export async function importBytes(sql: Sql, bytes: Uint8Array, piece = 1000) {
  async function* source() {
    for (let at = 0; at < bytes.length; at += piece) yield bytes.subarray(at, at + piece)
  }
  const done = { rows: 0, records: 0 }
  try {
    await importAll(sql, { source: source(), name: 'the file', signal }, done)
    return done
  } catch (error) {
    return error as Error & { code?: string }
  }
}

export async function countAll(sql: Sql): Promise<number> {
  let sum = 0
  for (const table of tableNames) {
    const [row] = await sql<{ count: string }[]>`select count(*) from ${sql(table)}`
    sum += Number(row?.count)
  }
  return sum
}

export async function emptyAll(sql: Sql): Promise<void> {
  await sql.begin(async tx => {
    await tx`set local statement_timeout = 0` // of hundreds of thousands of rows
    for (const table of [...tableNames].reverse()) await tx`delete from ${tx(table)}`
  })
}

/** Takes back what an import writes into the administrators' log. */
export async function removeImport(sql: Sql): Promise<void> {
  const imported = sql`select account_id, version from account_entries where document like '%"action": "imported"%'`
  await sql`
    with entries as (${imported}), leaves as (
      delete from log_entries l using entries e where l.consent_id = e.account_id and l.version = e.version
    )
    update accounts a set entries = entries - 1, entries_head = (
      select sha256(convert_to(document, 'UTF8')) from account_entries e
      where e.account_id = a.account_id and e.version = a.entries - 1)`
  await sql`delete from account_entries e using (${imported}) as i where i.account_id = e.account_id and i.version = e.version`
}

/** What two exports of the same data have in common: all but when they were made. */
export function contentOf(text: string): string {
  return text.replace(/"created_at":"[^"]+"/, '').replace(/"sha256":"\w+"/, '')
}

/** The content of an export without what imports write into the administrators' log, and so without its counts. */
export function contentBeforeImports(text: string): string {
  const lines = contentOf(text).split('\n').slice(0, -2)
  const imports = lines.filter(
    line => line.startsWith('{"account_entries":') && line.includes('\\"action\\": \\"imported\\"'),
  )
  const leaves = imports.map(line => {
    const { account_id, version } = JSON.parse(line).account_entries
    return `{"log_entries":{"account_id":"${account_id}","consent_id":"${account_id}","version":${version},`
  })
  return lines
    .filter(line => !imports.includes(line) && !leaves.some(leaf => line.startsWith(leaf)))
    .map(line => line.replace(/"entries":\d+,"entries_head":"[^"]+"/, ''))
    .join('\n')
}
