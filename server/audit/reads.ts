import type { Sql } from 'postgres'
import { parseInstant, type ReadQuery, type SubjectReadPage } from '../../src/contract/index.ts'
import type { Caller } from '../auth/caller.ts'
import { type CursorScope, decodeCursor, encodeCursor } from '../cursor.ts'
import { readInstant } from '../ids.ts'
import { hashSubject, type SubjectSecret } from '../subjects/hmac.ts'
import { listReads } from './read-queries.ts'

export interface ReadsDeps extends SubjectSecret {
  readonly sql: Sql
  readonly cursorSecret: Buffer
}

const defaultLimit = 50

/** @throws Failure `invalid_request` for a cursor of another account or other filters */
export async function getReads(
  deps: ReadsDeps,
  { accountId }: Caller,
  { cursor, limit = defaultLimit, ...query }: ReadQuery,
): Promise<SubjectReadPage> {
  const scope: CursorScope = { secret: deps.cursorSecret, accountId, filters: { ...query, of: 'reads' } }
  const { subject_id, from, to } = query
  const rows = await listReads(
    deps.sql,
    accountId,
    {
      subjectHmac: subject_id === undefined ? undefined : hashSubject(deps, accountId, subject_id),
      from: from === undefined ? undefined : (parseInstant(from) ?? 0),
      to: to === undefined ? undefined : (parseInstant(to) ?? 0),
      before: cursor === undefined ? undefined : decodeCursor(scope, cursor),
    },
    limit + 1,
  )
  const page = rows.slice(0, limit)
  const last = rows.length > limit ? page.at(-1) : undefined
  return {
    data: page.map(({ id, operation, subject_hmac, read_by, actor_id, name }) => ({
      id,
      at: readInstant(id).toISOString(),
      operation,
      actor: { kind: read_by, id: actor_id, name },
      subject_hmac,
    })),
    limit,
    next_cursor: last ? encodeCursor(scope, last.id) : null,
  }
}
