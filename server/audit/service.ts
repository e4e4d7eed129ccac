import type { Sql } from 'postgres'
import type { AccountEntry, AuditPage, AuditQuery } from '../../src/contract/index.ts'
import { sha256 } from '../../src/evidence/bytes.ts'
import type { Caller } from '../auth/caller.ts'
import { type CursorScope, decodeCursor, encodeCursor } from '../consents/cursor.ts'
import { Failure } from '../failure.ts'
import { type EntryRow, findActors, listEntries } from './queries.ts'

export interface Deps {
  readonly sql: Sql
  readonly cursorSecret: Buffer
}

const defaultLimit = 50
const entriesPerRead = 500

/** Entries that a page looks at. */
const maxExamined = 2000

/**
 * @throws Failure `invalid_request` for a cursor of another account or other filters; `internal_error` for an entry that was
 * tampered with
 */
export async function getPage(
  { sql, cursorSecret }: Deps,
  { accountId }: Caller,
  { cursor, limit = defaultLimit, ...query }: AuditQuery,
): Promise<AuditPage> {
  const scope: CursorScope = { secret: cursorSecret, accountId, filters: { ...query, of: 'audit' } }
  const data: AccountEntry[] = []
  let before = cursor === undefined ? undefined : readPosition(decodeCursor(scope, cursor))
  for (let examined = 0; examined < maxExamined; examined += entriesPerRead) {
    const rows = await listEntries(sql, accountId, { from: query.from, to: query.to, before }, entriesPerRead)
    for (const entry of await toEntries(sql, accountId, rows)) {
      before = entry.version
      if (!isWanted(entry, query)) continue
      const last = data[limit - 1]
      if (last) return { data, limit, next_cursor: encodeCursor(scope, writePosition(last.version)) }
      data.push(entry)
    }
    if (rows.length < entriesPerRead) return { data, limit, next_cursor: null }
  }
  return { data, limit, next_cursor: encodeCursor(scope, writePosition(before ?? 0)) }
}

async function toEntries(sql: Sql, accountId: string, rows: readonly EntryRow[]): Promise<AccountEntry[]> {
  const entries = rows.map(toEntry)
  const ids = new Set(entries.flatMap(({ actor }) => actor.id ?? []))
  const names = await findActors(sql, accountId, [...ids])
  return entries.map(({ actor, ...entry }) => ({
    ...entry,
    actor: { ...actor, name: names.get(actor.id ?? '') ?? null },
  }))
}

function toEntry({ version, document }: EntryRow): AccountEntry {
  const { at, action, actor, target, before, after } = parse(version, document)
  const hash = sha256(document).toString('hex')
  return { version, at, action, actor: { ...actor, name: null }, target, before, after, hash, document }
}

function parse(version: number, document: string): AccountEntry {
  try {
    return JSON.parse(document)
  } catch {
    throw new Failure('internal_error', `Entry ${version} was changed; see consentctl admin verify.`)
  }
}

function isWanted({ actor, action, target }: AccountEntry, query: AuditQuery): boolean {
  const isOne = (wanted: string | undefined, ...known: unknown[]) => wanted === undefined || known.includes(wanted)
  return (
    isOne(query.action, action) &&
    isOne(query.actor, actor.kind, actor.id, actor.name) &&
    isOne(query.target, target['kind'], target['id'])
  )
}

/** A cursor holds the bytes of an id. */
function writePosition(version: number): string {
  return `00000000-0000-0000-0000-${version.toString(16).padStart(12, '0')}`
}

function readPosition(id: string): number {
  return Number.parseInt(id.slice(-12), 16)
}
