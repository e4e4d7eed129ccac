import type { Consent, ConsentPage, ConsentQuery } from '../contract/index.ts'
import { EndlessListError } from './errors.ts'
import type { Input } from './transport.ts'

/** How far a walk goes. */
export interface Extent {
  /** How many records to read at most. */
  readonly limit: number
  /** How many requests to send at most. */
  readonly maxRequests: number
  /** How many requests may be under way at once, so far as the walk has no other bound; 1 unless said. */
  readonly concurrency?: number
  /** Milliseconds: where half of the first answers take longer, a long walk goes on in several places; 10 unless said. */
  readonly slow?: number | undefined
}

export interface WalkedPage {
  readonly records: readonly Consent[]
  /** Where the walk goes on after this page; null when there is no more. */
  readonly next: string | null
  /** The upper bound (`to`) that the cursor goes with, where that is not the query's. */
  readonly to?: string | undefined
}

/** Asks for one page. */
export type List = (input: { query: ConsentQuery } & Pick<Input, 'onAnswer'>) => Promise<ConsentPage>

export const largestPage = 100

/** After how many pages a walk is long: what several requests at once gain by then is worth the few that they waste. */
export const longWalk = 16

/**
 * The pages of a list, each asked for when the one before is used up, so that memory does not grow with the list. Where
 * more than one request may be under way, those from the third page on are asked for while the one before is used, and
 * a long walk of slow answers goes on in several places (windows.ts): where answers are quick that gains nothing, and costs
 * a quarter more. The last page asks for no more than is wanted: its cursor then continues without a gap.
 */
export async function* walk(list: List, query: ConsentQuery, extent: Extent): AsyncGenerator<WalkedPage> {
  const { limit, maxRequests, concurrency = 1, slow = 10 } = extent
  const isOpen = concurrency > 1 && limit === Number.POSITIVE_INFINITY && maxRequests === limit
  const comesAgain = cycle(query.cursor)
  const instants: string[] = []
  const waits: number[] = []
  let left = limit
  const ask = async (cursor: string | undefined) => {
    const asked = performance.now()
    const page = await list({ query: { ...query, cursor, limit: Math.min(left, largestPage) } })
    if (waits.length < longWalk) waits.push(performance.now() - asked)
    return page
  }
  let asked: Promise<ConsentPage> | null = ask(query.cursor)
  for (let requests = 1; asked; requests += 1) {
    const { data, next_cursor }: ConsentPage = await asked
    const next: string | null = next_cursor || null // some write an empty one for none
    if (next !== null && comesAgain(next)) throw new EndlessListError()
    left -= data.length
    if (isOpen && requests <= longWalk) for (const { created_at } of data) instants.push(created_at)
    if (requests === longWalk) (await import('../io/thrift.ts')).beThrifty()
    const isParted: boolean = isOpen && requests === longWalk && next !== null && isHalfOver(waits, slow)
    const hasMore: boolean = next !== null && left > 0 && requests < maxRequests && !isParted
    const ahead: Promise<ConsentPage> | null =
      hasMore && requests > 1 && concurrency > 1 ? ask(next ?? undefined) : null
    if (ahead) await leaving(ahead)
    yield { records: data, next }
    if (isParted && next !== null) {
      const { walkInWindows } = await import('./windows.ts')
      yield* walkInWindows(list, query, { cursor: next, comesAgain, instants }, concurrency)
      return
    }
    asked = ahead ?? (hasMore ? ask(next ?? undefined) : null)
  }
}

/**
 * Resolves when a request has left, which else waits until all is done with the page before it. What it fails with is
 * thrown where its page is due.
 */
async function leaving(request: Promise<unknown>): Promise<void> {
  request.catch(() => {})
  await new Promise(setImmediate)
}

function isHalfOver(numbers: readonly number[], bound: number): boolean {
  return numbers.filter(number => number > bound).length * 2 >= numbers.length
}

/**
 * Whether a cursor was there before, in one place: it is compared with one that is moved on to the 1st, 2nd, 4th, 8th …
 * (Brent 1980), so that whatever goes in a circle is found within a few rounds of it.
 */
export function cycle(first: string | undefined): (cursor: string) => boolean {
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
