import type { Consent, ConsentPage, ConsentQuery } from '../contract/index.ts'

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
  let left = limit
  for (let requests = 0; requests < maxRequests && left > 0; requests += 1) {
    const page = await list({ query: { ...query, cursor, limit: Math.min(left, largestPage) } })
    const next = page.next_cursor || null // some write an empty one for none
    if (next !== null && next === cursor) {
      throw new Error('the instance answered with the cursor it was given: the list would never end')
    }
    left -= page.data.length
    yield { records: page.data, next }
    if (next === null) return
    cursor = next
  }
}
