import { type ConsentQuery, parseInstant } from '../../src/contract/index.ts'
import type { Caller } from '../auth/caller.ts'
import { type CursorScope, decodeCursor, encodeCursor } from '../http/cursor.ts'
import { firstIdAt, lastIdAt } from '../ids.ts'
import { listConsents } from './queries.ts'
import type { Deps } from './service.ts'

const defaultLimit = 50

/**
 * The JSON of one page of the caller's records, newest first. `next_cursor` is null on the last page: one record more than asked
 * for is read, so that a cursor never leads to an empty page. Throws `invalid_request` for a foreign cursor.
 */
export async function getPage(
  { sql, cursorSecret }: Deps & { readonly cursorSecret: Buffer },
  caller: Caller,
  { cursor, limit = defaultLimit, ...query }: ConsentQuery,
): Promise<string> {
  const { accountId } = caller
  const scope: CursorScope = {
    secret: cursorSecret,
    accountId,
    filters: { ...query, include_deleted: query.include_deleted || undefined },
  }
  const filters = {
    siteId: query.site_id,
    subjectId: query.subject_id,
    consentId: query.consent_id,
    accepted: query.accepted,
    firstId: bound(query.from, instant => firstIdAt(Math.ceil(instant))),
    lastId: bound(query.to, instant => lastIdAt(Math.floor(instant))),
    before: cursor === undefined ? undefined : decodeCursor(scope, cursor),
    includeDeleted: query.include_deleted ?? false,
  }
  const rows = await listConsents(sql, accountId, filters, limit + 1)
  const data = rows.slice(0, limit)
  const last = data.at(-1)
  const next = rows.length > limit && last ? encodeCursor(scope, last.id) : null
  return `{"data":[${data.map(row => row.shown).join()}],"limit":${limit},"next_cursor":${JSON.stringify(next)}}`
}

function bound(instant: string | undefined, idAt: (millisecond: number) => string): string | undefined {
  const parsed = instant === undefined ? null : parseInstant(instant)
  return parsed === null ? undefined : idAt(parsed)
}
