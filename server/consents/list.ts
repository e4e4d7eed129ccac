import type { Sql } from 'postgres'
import type { ConsentQuery, CountQuery, FilterName } from '../../src/contract/index.ts'
import { endOfConsent } from '../../src/contract/validity.ts'
import type { Caller } from '../auth/caller.ts'
import { type CursorScope, decodeCursor, decodeTimedCursor, encodeCursor, encodeTimedCursor } from '../cursor.ts'
import type { Reach } from '../db/reach.ts'
import { type Replicas, replicaMinAgeMs } from '../db/replicas.ts'
import { Failure } from '../failure.ts'
import { firstIdAt } from '../ids.ts'
import type { ConsentDeps } from './deps.ts'
import { milliseconds } from './filters.ts'
import { countConsents, countExpiring, findExpiring, findPage } from './queries.ts'
import { toPage } from './record-text.ts'
import type { ExpiryFilters, ListFilters } from './rows.ts'

const defaultLimit = 50

type ListDeps = ConsentDeps & { readonly cursorSecret: Buffer; readonly replicas?: Replicas | undefined }

interface ListedPage {
  readonly text: string
  readonly next: string | null
}

/** @throws Failure `invalid_request` for a cursor of another account or other filters */
export async function getPage(
  { sql, replicas, cursorSecret }: ListDeps,
  caller: Caller,
  { cursor, limit = defaultLimit, ...query }: ConsentQuery,
): Promise<ListedPage> {
  const { accountId } = caller
  if (query.expiry !== undefined) return await getExpiryPage({ sql, cursorSecret }, caller, { ...query, cursor, limit })
  const scope: CursorScope = {
    secret: cursorSecret,
    accountId,
    filters: { ...query, include_deleted: query.include_deleted || undefined },
  }
  const filters = { ...query, before: cursor === undefined ? undefined : decodeCursor(scope, cursor) }
  const read = (from: Sql) => findPage(from, caller, filters, limit)
  const [page] = await (replicas && isSettled(filters) ? replicas.read(sql, read) : read(sql))
  const { records, last } = toPage(page?.parts ?? null, limit)
  const next = last && encodeCursor(scope, last.id)
  return { text: toText(records, limit, next), next }
}

/** @throws Failure `invalid_request` for filters other than `site_id` */
function toPeriod({ site_id, expiry = '', ...others }: CountQuery): ExpiryFilters {
  const [other] = Object.entries(others).flatMap(([name, value]) => (value === undefined ? [] : [name]))
  if (other) throw new Failure('invalid_request', `expiry: can be combined only with site_id, not with ${other}`)
  const now = new Date()
  const end = expiry === 'expired' ? null : endOfConsent(now, expiry)
  if (!end && expiry !== 'expired') throw new Failure('invalid_request', 'expiry: must be at most 100 years')
  return { siteId: site_id, from: end && now, to: end ?? now }
}

/** Lists the soonest expiry first. @throws Failure `invalid_request` for other filters */
async function getExpiryPage(
  { sql, cursorSecret }: Pick<ListDeps, 'sql' | 'cursorSecret'>,
  caller: Caller,
  { cursor, limit = defaultLimit, ...query }: ConsentQuery,
): Promise<ListedPage> {
  const { accountId } = caller
  const period = toPeriod(query)
  const { site_id, expiry } = query
  const scope: CursorScope = { secret: cursorSecret, accountId, filters: { site_id, expiry } }
  const filters = { ...period, after: cursor === undefined ? undefined : decodeTimedCursor(scope, cursor) }
  const [page] = await findExpiring(sql, caller, filters, limit)
  const { records, last } = toPage(page?.parts ?? null, limit)
  const next = last && encodeTimedCursor(scope, { at: last.expiresAt, id: last.id })
  return { text: toText(records, limit, next), next }
}

function toText(records: string, limit: number, next: string | null): string {
  return `{"data":[${records}],"limit":${limit},"next_cursor":${JSON.stringify(next)}}`
}

export async function countList(sql: Sql, reach: Reach, query: CountQuery): Promise<number> {
  if (query.expiry !== undefined) return await countExpiring(sql, reach, toPeriod(query))
  return await countConsents(sql, reach, query)
}

export async function* pagesAfter(
  { next }: ListedPage,
  read: (cursor: string) => Promise<ListedPage>,
): AsyncGenerator<string> {
  for (let cursor = next; cursor !== null; ) {
    const page = await read(cursor)
    yield page.text
    cursor = page.next
  }
}

/** Filters that never change, and name no person. */
const settledFilters: readonly string[] = ['site_id', 'imported', 'from', 'to'] satisfies FilterName[]

/** True if a lagging replica has the same list. A person's list may still show an erased record. */
function isSettled({ before, include_deleted: _, ...values }: ListFilters): boolean {
  const given = Object.entries(values).filter(([, value]) => value !== undefined)
  if (given.some(([name]) => !settledFilters.includes(name))) return false
  const youngest = Date.now() - replicaMinAgeMs
  return (before !== undefined && before < firstIdAt(youngest)) || isBefore(values.to, youngest)
}

function isBefore(instant: string | undefined, time: number): boolean {
  return instant !== undefined && milliseconds(instant) < time
}
