import type { Sql } from 'postgres'
import type { NoticeSubjectQuery } from '../../src/contract/index.ts'
import type { Caller } from '../auth/caller.ts'
import { type CursorScope, decodeCursor, encodeCursor } from '../cursor.ts'
import { noSite } from '../failure.ts'
import { findNoticeSubjects } from './subject-queries.ts'

const defaultLimit = 50

export interface NoticeSubjectDeps {
  readonly sql: Sql
  readonly cursorSecret: Buffer
}

/**
 * Returns a NoticeSubjectPage as JSON.
 * @throws Failure `not_found`; `invalid_request` for a cursor of another version
 */
export async function getSubjects(
  { sql, cursorSecret }: NoticeSubjectDeps,
  { accountId }: Caller,
  { siteId, version }: { readonly siteId: string; readonly version: number },
  { cursor, limit = defaultLimit }: NoticeSubjectQuery,
): Promise<string> {
  const filters = { of: 'notice subjects', site_id: siteId, version }
  const scope: CursorScope = { secret: cursorSecret, accountId, filters }
  const before = cursor === undefined ? undefined : decodeCursor(scope, cursor)
  const page = await findNoticeSubjects(sql, accountId, { siteId, version, before }, limit)
  if (!page || page.records === null) throw noSite()
  const last = page.has_more ? page.last : page.examined
  const next = last === null ? null : encodeCursor(scope, last)
  return `{"data":[${page.records}],"limit":${limit},"next_cursor":${JSON.stringify(next)}}`
}
