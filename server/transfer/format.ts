// An export is lines of JSON in UTF-8: a header, a row in each line after it, and an end that counts and hashes what came
// before. Rows are as PostgreSQL writes them in JSON, and never read here: no number or time is changed on its way.
import * as z from 'zod'
import { isTable, type TableName } from './tables.ts'

/** Raised with every change of the format. */
export const formatVersion = 1

const Header = z.object({
  consentctl_export: z.number(),
  /** The last migration of the database. */
  schema: z.string(),
  created_at: z.string(),
  columns: z.record(z.string(), z.array(z.string())),
})

export type Header = z.output<typeof Header>

const End = z.strictObject({
  end: z.strictObject({
    rows: z.record(z.string(), z.number()),
    /** Of all bytes before this line, in hexadecimal. */
    sha256: z.string(),
  }),
})

export type End = z.output<typeof End>['end']

export function headerLine(header: Omit<Header, 'consentctl_export'>): string {
  return `${JSON.stringify({ consentctl_export: formatVersion, ...header })}\n`
}

/** A row as PostgreSQL has written it, under the name of its table. */
export function rowLine(table: TableName, row: string): string {
  return `{"${table}":${row}}\n`
}

export function endLine(end: End): string {
  return `${JSON.stringify({ end })}\n`
}

/** The header in a line; null where it is none. */
export function readHeader(line: string): Header | null {
  return Header.safeParse(parse(line)).data ?? null
}

/** The end in a line; null where it is none. */
export function readEnd(line: string): End | null {
  return line.startsWith('{"end":') ? (End.safeParse(parse(line)).data?.end ?? null) : null
}

/** The row in a line, unread; null where it is none. */
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
