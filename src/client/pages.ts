import type { Consent, ConsentPage, ConsentQuery } from '../contract/index.ts'
import { EndlessListError, NetworkError } from './errors.ts'

export interface Extent {
  /** Records to read at most. */
  readonly limit: number
  /** Requests to send at most. */
  readonly maxRequests: number
  /** True to ask for pages before they are needed: as one stream if the instance has it, else one page ahead. */
  readonly readAhead?: boolean
}

export interface WalkedPage {
  readonly records: readonly Consent[]
  /** The cursor of the next page; null on the last one. */
  readonly next: string | null
}

/** The pages of one response: one, or as many as its connection carries. */
export interface PageResponse {
  readonly first: ConsentPage
  /** Fails with a NetworkError if the connection is cut. Null if the response is a single page. */
  readonly rest: AsyncGenerator<ConsentPage> | null
}

/** Requests a page, and with `stream` those after it too, if the instance streams them. */
export type RequestPages = (query: ConsentQuery, stream: boolean) => Promise<PageResponse>

const largestPage = 100

/**
 * Yields the pages of a list, wherever they come from. A stream that is cut is continued from the last cursor, so no
 * record is lost or repeated. With a limit, pages are never streamed: the last one must have no more records than wanted,
 * because its cursor has to continue without a gap, and a page that is not wanted costs quota.
 *
 * The first request is for one page, so that short lists are the same everywhere, and the second page is not asked for
 * before the first is used, because many readers stop there.
 *
 * @throws EndlessListError if the cursors lead back to where they were.
 */
export async function* walk(
  request: RequestPages,
  query: ConsentQuery,
  { limit, maxRequests, readAhead = false }: Extent,
): AsyncGenerator<WalkedPage> {
  const mayStream = readAhead && limit === Number.POSITIVE_INFINITY && maxRequests === limit
  const isRepeated = cycleDetector(query.cursor)
  let left = limit
  let requests = 0
  const ask = (cursor: string | undefined) => {
    requests += 1
    return request({ ...query, cursor, limit: Math.min(left, largestPage) }, mayStream && requests > 1)
  }
  let response: Promise<PageResponse> | null = ask(query.cursor)
  while (response) {
    const { first, rest }: PageResponse = await response
    response = null
    let next: string | null = null
    for await (const page of pagesOf(first, rest)) {
      next = page.next_cursor || null // some instances send an empty cursor for none
      if (next !== null && isRepeated(next)) throw new EndlessListError()
      left -= page.data.length
      const hasMore: boolean = next !== null && left > 0 && requests < maxRequests
      if (hasMore && !rest && readAhead && requests > 1) {
        response = ask(next ?? undefined)
        await departure(response)
      }
      yield { records: page.data, next }
      if (!hasMore) return
    }
    response ??= ask(next ?? undefined)
  }
}

/** Yields the pages of a response, up to where its connection is cut. */
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

/** Resolves once a request has left: otherwise it would wait until the page before it is used. Its error is thrown later. */
async function departure(request: Promise<unknown>): Promise<void> {
  request.catch(() => {})
  await new Promise(setImmediate)
}

/**
 * Returns a function that is true for a cursor that was there before. It compares with one cursor, which moves on to the
 * 1st, 2nd, 4th, 8th … (Brent 1980): any cycle is found within a few rounds, in constant memory.
 */
function cycleDetector(first: string | undefined): (cursor: string) => boolean {
  let kept = first
  let since = 0
  let power = 1
  return cursor => {
    if (cursor === kept) return true
    since += 1
    if (since < power) return false
    kept = cursor
    since = 0
    power *= 2
    return false
  }
}
