// JSON Lines in UTF-8: a header, rows, and an end with the counts and the SHA-256 of all lines before. Rows are never
// parsed here, so that no number or time changes.

import type { Fragment, ISql } from 'postgres'
import * as z from 'zod'

/**
 * All tables except `migrations`, each after those it references, with an order that does not depend on the collation.
 */
export const tables = {
  secrets: sql => sql`name collate "C"`,
  key_statements: sql => sql`position`,
  verifications: sql => sql`scope collate "C"`,
  logins: sql => sql`email collate "C"`,
  accounts: sql => sql`account_id`,
  account_entries: sql => sql`account_id, version`,
  users: sql => sql`account_id, id`,
  sites: sql => sql`account_id, id`,
  notices: sql => sql`account_id, site_id, policy_version`,
  notice_texts: sql => sql`account_id, site_id, policy_version, language collate "C"`,
  site_tokens: sql => sql`account_id, site_id, token_hash`,
  api_keys: sql => sql`account_id, id`,
  usage: sql => sql`account_id, month`,
  idempotency_keys: sql => sql`account_id, key collate "C"`,
  origins: sql => sql`account_id, origin`,
  consents: sql => sql`account_id, id`,
  consent_history: sql => sql`account_id, consent_id, version`,
  log_entries: sql => sql`account_id, consent_id, version`,
  subject_requests: sql => sql`account_id, id`,
  subject_reads: sql => sql`account_id, id`,
  operator_documents: sql => sql`account_id, id`,
  holds: sql => sql`account_id, id`,
  webhooks: sql => sql`account_id, id`,
  checkpoints: sql => sql`account_id, tree_size`,
  timestamp_tokens: sql => sql`account_id, tree_size`,
  statistics: sql => sql`account_id, kind collate "C", site_id, value collate "C", day`,
  statistics_progress: sql => sql`account_id`,
} as const satisfies Record<string, (sql: ISql) => Fragment>

export type TableName = keyof typeof tables

/** What an export without secrets has in place of columns, as JSON; null omits all rows of a table. */
export const redactions: Partial<Record<TableName, ((sql: ISql) => Fragment) | null>> = {
  secrets: null,
  site_tokens: null,
  webhooks: null,
  users: sql => sql`jsonb_build_object('password_hash', '')`, // matches no password
  api_keys: sql => sql`jsonb_build_object('key_hash', uuid_send(id), 'hint', null)`, // shorter than any hash of a key
}

export const tableNames = Object.keys(tables) as TableName[]

function isTable(name: string): name is TableName {
  return Object.hasOwn(tables, name)
}

export const formatVersion = 1

const Header = z.object({
  consentctl_export: z.number(),
  /** Name of the last migration. */
  schema: z.string(),
  created_at: z.string(),
  without_secrets: z.boolean(),
  columns: z.record(z.string(), z.array(z.string())),
})

export type Header = z.output<typeof Header>

const End = z.strictObject({
  end: z.strictObject({
    rows: z.record(z.string(), z.number()),
    /** SHA-256 of all bytes before this line, in hexadecimal. */
    sha256: z.string(),
  }),
})

export type End = z.output<typeof End>['end']

export function headerLine(header: Omit<Header, 'consentctl_export'>): string {
  return `${JSON.stringify({ consentctl_export: formatVersion, ...header })}\n`
}

export function rowLine(table: TableName, row: string): string {
  return `{"${table}":${row}}\n`
}

export function endLine(end: End): string {
  return `${JSON.stringify({ end })}\n`
}

export function readHeader(line: string): Header | null {
  return Header.safeParse(parse(line)).data ?? null
}

export function readEnd(line: string): End | null {
  return line.startsWith('{"end":') ? (End.safeParse(parse(line)).data?.end ?? null) : null
}

/** Leaves the JSON unparsed. */
export function readRow(line: string): { readonly table: TableName; readonly row: string } | null {
  const [, table = '', row = ''] = /^\{"(\w+)":(\{.*\})\}$/s.exec(line) ?? []
  return isTable(table) ? { table, row } : null
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}

/** Longer than any row. */
const maxLineBytes = 16 * 1024 * 1024

export interface Line {
  readonly number: number
  /** Including the line feed, if any. */
  readonly bytes: Buffer
}

/** Keeps every byte. @throws RangeError for a line that is too long */
export async function* readLines(source: AsyncIterable<Uint8Array>): AsyncGenerator<Line> {
  let number = 0
  let rest: Buffer[] = []
  let length = 0
  for await (const chunk of source) {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
    let start = 0
    for (let end = bytes.indexOf(10); end !== -1; end = bytes.indexOf(10, start)) {
      const line = bytes.subarray(start, end + 1)
      yield { number: ++number, bytes: rest.length > 0 ? Buffer.concat([...rest, line]) : line }
      rest = []
      length = 0
      start = end + 1
    }
    if (start < bytes.length) rest.push(bytes.subarray(start))
    length += bytes.length - start
    if (length > maxLineBytes) throw new RangeError(`line ${number + 1} is longer than any row`)
  }
  if (length > 0) yield { number: number + 1, bytes: Buffer.concat(rest) }
}
