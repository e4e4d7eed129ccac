import type { Consent, ConsentPage, ConsentQuery } from '../contract/index.ts'
import { EndlessListError, NetworkError } from './errors.ts'

export interface Extent {
  readonly limit: number
  readonly maxRequests: number
  /** Streams if the instance supports it, else requests one page ahead. */
  readonly readAhead?: boolean
}

export interface WalkedPage {
  readonly records: readonly Consent[]
  /** Null on the last page. */
  readonly next: string | null
}

export interface PageResponse {
  readonly first: ConsentPage
  /** Further pages of a stream. Throws a NetworkError if it breaks. */
  readonly rest: AsyncGenerator<ConsentPage> | null
}

/** With `stream`, also all later pages if the instance streams them. */
export type RequestPages = (query: ConsentQuery, stream: boolean) => Promise<PageResponse>

const largestPage = 100

/**
 * Continues a cut stream from its last cursor. Does not stream with a limit: the last page must end where its cursor
 * continues, and extra pages cost quota. The second request waits until the first page is used: many readers stop
 * there.
 *
 * @throws EndlessListError if a cursor is repeated
 */
export async function* walk(
  request: RequestPages,
  query: ConsentQuery,
  { limit, maxRequests, readAhead = false }: Extent,
): AsyncGenerator<WalkedPage> {
  const mayStream = readAhead && limit === Number.POSITIVE_INFINITY && maxRequests === limit
  const requireNew = cycleDetector(query.cursor)
  let left = limit
  let requests = 0
  const ask = (cursor: string | undefined) => {
    requests += 1
    return request({ ...query, cursor, limit: Math.min(left, largestPage) }, mayStream && requests > 1)
  }
  let response = ask(query.cursor)
  for (;;) {
    const { first, rest } = await response
    let ahead: typeof response | undefined
    let next: string | undefined
    for await (const page of pagesOf(first, rest)) {
      next = page.next_cursor || undefined // some instances send ''
      requireNew(next)
      left -= page.data.length
      const hasMore = next !== undefined && left > 0 && requests < maxRequests
      if (hasMore && !rest && readAhead && requests > 1) {
        ahead = ask(next)
        await departure(ahead)
      }
      yield { records: page.data, next: next ?? null }
      if (!hasMore) return
    }
    response = ahead ?? ask(next)
  }
}

/** Ends without an error if the connection is cut. */
async function* pagesOf(first: ConsentPage, rest: PageResponse['rest']): AsyncGenerator<ConsentPage> {
  try {
    yield first
    if (rest) yield* rest
  } catch (error) {
    if (!(error instanceof NetworkError)) throw error
  } finally {
    await rest?.return(undefined)
  }
}

async function departure(request: Promise<unknown>): Promise<void> {
  request.catch(() => {})
  await new Promise(setImmediate)
}

export function unseen(records: readonly Consent[], seen: Set<string>): Consent[] {
  return records.filter(({ id }) => !seen.has(id) && seen.add(id))
}

/** Compares with the 1st, 2nd, 4th, 8th … (Brent 1980): constant memory. */
function cycleDetector(first: string | undefined): (cursor: string | undefined) => void {
  let kept = first
  let since = 0
  let power = 1
  return cursor => {
    if (cursor === undefined) return
    if (cursor === kept) throw new EndlessListError()
    since += 1
    if (since < power) return
    kept = cursor
    since = 0
    power *= 2
  }
}
