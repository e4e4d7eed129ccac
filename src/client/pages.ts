import type { Consent, ConsentPage, ConsentQuery } from '../contract/index.ts'
import { EndlessListError } from './errors.ts'

/** How far a walk goes. */
export interface Extent {
  /** How many records to read at most. */
  readonly limit: number
  /** How many requests to send at most. */
  readonly maxRequests: number
}

export interface WalkedPage {
  readonly records: readonly Consent[]
  /** Where the walk goes on after this page; null when there is no more. */
  readonly next: string | null
}

const largestPage = 100

/**
 * The pages of a list, each asked for when the one before is used up, so that memory does not grow with the list. The
 * last one asks for no more than is wanted: its cursor then continues without a gap.
 */
export async function* walk(
  list: (input: { query: ConsentQuery }) => Promise<ConsentPage>,
  query: ConsentQuery,
  { limit, maxRequests }: Extent,
): AsyncGenerator<WalkedPage> {
  let cursor = query.cursor
  const comesAgain = cycle(cursor)
  let left = limit
  for (let requests = 0; requests < maxRequests && left > 0; requests += 1) {
    const page = await list({ query: { ...query, cursor, limit: Math.min(left, largestPage) } })
    const next = page.next_cursor || null // some write an empty one for none
    if (next !== null && comesAgain(next)) throw new EndlessListError()
    left -= page.data.length
    yield { records: page.data, next }
    if (next === null) return
    cursor = next
  }
}

/**
 * Whether a cursor was there before, in one place: it is compared with one that is moved on to the 1st, 2nd, 4th, 8th …
 * (Brent 1980), so that whatever goes in a circle is found within a few rounds of it.
 */
function cycle(first: string | undefined): (cursor: string) => boolean {
  let kept = first
  let [since, power] = [0, 1]
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
