import type { Sql } from 'postgres'
import { AccountEntry, type AuditPage, type AuditQuery } from '../../src/contract/index.ts'
import { sha256 } from '../../src/evidence/bytes.ts'
import type { Caller } from '../auth/caller.ts'
import { type CursorScope, decodeCursor, encodeCursor } from '../cursor.ts'
import { type EntryRow, findActors, listEntries } from './queries.ts'

export interface AuditDeps {
  readonly sql: Sql
  readonly cursorSecret: Buffer
}

const defaultLimit = 50
const entriesPerRead = 500

const maxExamined = 2000

/** @throws Failure `invalid_request` for a cursor of another account or other filters */
export async function getPage(
  { sql, cursorSecret }: AuditDeps,
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

function toEntry({ version, created_at, document }: EntryRow): AccountEntry {
  const known = { version, hash: sha256(document).toString('hex'), document }
  const { success, data } = AccountEntry.safeParse({ ...parse(document), ...known })
  if (success) return data
  const actor = { kind: 'unknown', id: null, name: null }
  return { ...known, at: created_at.toISOString(), action: unreadable, actor, target: {}, before: null, after: null }
}

/** Action of an entry that was tampered with. */
const unreadable = 'unreadable'

function parse(document: string): object {
  try {
    const { actor, ...entry } = Object(JSON.parse(document))
    return { ...entry, actor: { ...actor, name: null } }
  } catch {
    return {}
  }
}

function isWanted({ actor, action, target }: AccountEntry, query: AuditQuery): boolean {
  const isOne = (wanted: string | undefined, ...known: unknown[]) => wanted === undefined || known.includes(wanted)
  const isKnown =
    isOne(query.action, action) &&
    isOne(query.actor, actor.kind, actor.id, actor.name) &&
    isOne(query.target, target['kind'], target['id'])
  return isKnown || action === unreadable
}

/** Cursors contain an id's bytes. */
function writePosition(version: number): string {
  return `00000000-0000-0000-0000-${version.toString(16).padStart(12, '0')}`
}

function readPosition(id: string): number {
  return Number.parseInt(id.slice(-12), 16)
}
