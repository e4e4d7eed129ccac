import type { Sql } from 'postgres'
import { type ConsentQuery, type CountQuery, parseInstant } from '../../src/contract/index.ts'
import { endOfConsent } from '../../src/contract/validity.ts'
import type { Caller } from '../auth/caller.ts'
import { type Replicas, replicaMinAgeMs } from '../db/replicas.ts'
import { Failure } from '../failure.ts'
import { firstIdAt, lastIdAt } from '../ids.ts'
import { type CursorScope, decodeCursor, decodeTimedCursor, encodeCursor, encodeTimedCursor } from './cursor.ts'
import type { Deps } from './deps.ts'
import { countConsents, countExpiring, findExpiring, findPage } from './queries.ts'
import type { ExpiryFilters, ListFilters } from './rows.ts'

const defaultLimit = 50

type ListDeps = Deps & { readonly cursorSecret: Buffer; readonly replicas?: Replicas | undefined }

interface Page {
  readonly text: string
  readonly next: string | null
}

/** @throws Failure `invalid_request` for a cursor of another account or other filters */
export async function getPage(
  { sql, replicas, cursorSecret }: ListDeps,
  caller: Caller,
  { cursor, limit = defaultLimit, ...query }: ConsentQuery,
): Promise<Page> {
  const { accountId } = caller
  if (query.expiry !== undefined) return await getExpiryPage({ sql, cursorSecret }, caller, { ...query, cursor, limit })
  const scope: CursorScope = {
    secret: cursorSecret,
    accountId,
    filters: { ...query, include_deleted: query.include_deleted || undefined },
  }
  const filters = {
    ...toFilters(query),
    before: cursor === undefined ? undefined : decodeCursor(scope, cursor),
  }
  const read = (from: Sql) => findPage(from, accountId, filters, limit)
  const [page] = await (replicas && isSettled(filters) ? replicas.read(sql, read) : read(sql))
  const next = page?.has_more && page.last ? encodeCursor(scope, page.last) : null
  return { text: toText(page?.records ?? '', limit, next), next }
}

/** @throws Failure `invalid_request` for other filters than `site_id` */
function toPeriod({ site_id, expiry = '', ...others }: CountQuery): ExpiryFilters {
  const [other] = Object.entries(others).flatMap(([name, value]) => (value === undefined ? [] : [name]))
  if (other) throw new Failure('invalid_request', `expiry: only site_id goes with it, and not ${other}`)
  const now = new Date()
  const end = expiry === 'expired' ? null : endOfConsent(now, expiry)
  if (!end && expiry !== 'expired') throw new Failure('invalid_request', 'expiry: must be at most 100 years')
  return { siteId: site_id, from: end && now, to: end ?? now }
}

/** Lists the soonest expiry first. @throws Failure `invalid_request` for other filters */
async function getExpiryPage(
  { sql, cursorSecret }: Pick<ListDeps, 'sql' | 'cursorSecret'>,
  { accountId }: Caller,
  { cursor, limit = defaultLimit, ...query }: ConsentQuery,
): Promise<Page> {
  const period = toPeriod(query)
  const { site_id, expiry } = query
  const scope: CursorScope = { secret: cursorSecret, accountId, filters: { site_id, expiry } }
  const filters = { ...period, after: cursor === undefined ? undefined : decodeTimedCursor(scope, cursor) }
  const [page] = await findExpiring(sql, accountId, filters, limit)
  const { last, last_at } = page ?? {}
  const next = page?.has_more && last && last_at ? encodeTimedCursor(scope, { at: last_at, id: last }) : null
  return { text: toText(page?.records ?? '', limit, next), next }
}

function toText(records: string, limit: number, next: string | null): string {
  return `{"data":[${records}],"limit":${limit},"next_cursor":${JSON.stringify(next)}}`
}

function toFilters(query: CountQuery): ListFilters {
  // A filter that is forgotten here would find all records.
  return {
    siteId: query.site_id,
    subjectId: query.subject_id,
    consentId: query.consent_id,
    accepted: query.accepted,
    imported: query.imported,
    firstId: bound(query.from, instant => firstIdAt(Math.ceil(instant))),
    lastId: bound(query.to, instant => lastIdAt(Math.floor(instant))),
    includeDeleted: query.include_deleted ?? false,
  } satisfies Record<Exclude<keyof ListFilters, 'before'>, unknown>
}

export async function countList(sql: Sql, accountId: string, query: CountQuery): Promise<number> {
  if (query.expiry !== undefined) return await countExpiring(sql, accountId, toPeriod(query))
  return await countConsents(sql, accountId, toFilters(query))
}

export async function* pagesAfter({ next }: Page, read: (cursor: string) => Promise<Page>): AsyncGenerator<string> {
  for (let cursor = next; cursor !== null; ) {
    const page = await read(cursor)
    yield page.text
    cursor = page.next
  }
}

/**
 * Returns true if a lagging replica has the same list. Never for a subject or label, because an erased record must not
 * reappear.
 */
function isSettled({ subjectId, consentId, accepted, before, lastId }: ListFilters): boolean {
  if (subjectId !== undefined || consentId !== undefined || accepted !== undefined) return false
  const minYoungId = firstIdAt(Date.now() - replicaMinAgeMs)
  return [before, lastId].some(id => id !== undefined && id < minYoungId)
}

function bound(instant: string | undefined, idAt: (millisecond: number) => string): string | undefined {
  const parsed = instant === undefined ? null : parseInstant(instant)
  return parsed === null ? undefined : idAt(parsed)
}
