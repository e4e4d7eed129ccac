import type { List } from '../../../src/client/pages.ts'
import type { Consent, ConsentPage, ConsentQuery } from '../../../src/contract/index.ts'
import { consent } from '../support.ts'

/** Some records one after the other, newest first, with so many milliseconds between them. */
export interface Run {
  readonly count: number
  readonly gap: number
}

export interface Kept {
  readonly record: Consent
  /** When it was created, as the instance keeps it: milliseconds since 1970, or finer. */
  readonly at: number
}

/** Records as such runs have them; `digits` of a second are shown, whatever is kept. */
export function timeline(runs: readonly Run[], digits = 3): Kept[] {
  const all: Kept[] = []
  let at = Date.UTC(2026, 10, 20)
  for (const { count, gap } of runs)
    for (let index = 0; index < count; index += 1) {
      at -= gap
      const micro = Math.round(at * 1000)
      const whole = Math.floor(micro / 1000)
      const fine = digits === 6 ? String(micro - whole * 1000).padStart(3, '0') : ''
      const created_at = new Date(whole).toISOString().replace('Z', `${fine}Z`)
      all.push({ record: consent({ id: String(all.length), created_at }), at: micro / 1000 })
    }
  return all
}

export interface Timeline {
  readonly list: List
  readonly requests: ConsentQuery[]
  /** How many records were sent. */
  sent: number
}

export interface Ways {
  /** The most that a page has. */
  readonly largest?: number
  /** Whether its order is another one than that of the instants. */
  readonly isUnordered?: boolean
  /** The ids of those that are deleted by now. */
  readonly gone?: ReadonlySet<string>
  /** Resolves when an answer is on its way. */
  readonly wait?: () => Promise<unknown>
  /** Called with each query before it is answered; may throw, or answer it itself. */
  readonly before?: (query: ConsentQuery) => ConsentPage | undefined
}

/** An instance with these records that follows the specification; a cursor goes with the very same bounds alone. */
export function instanceOf(
  all: readonly Kept[],
  { largest = 100, isUnordered, gone, wait, before }: Ways = {},
): Timeline {
  const requests: ConsentQuery[] = []
  const answer = (query: ConsentQuery): ConsentPage => {
    const { from, to, cursor, limit = 50 } = query
    const records = isUnordered && to ? all.filter(({ at }) => at <= Date.parse(to)) : all
    const [to_, from_ = from, start = firstAt(records, to)] = cursor?.split('|') ?? [to]
    if (to_ !== String(to) && cursor !== undefined) throw new Error(`the cursor ${cursor} is not of ${to}`)
    const least = from_ === undefined || from_ === 'undefined' ? Number.NEGATIVE_INFINITY : Date.parse(from_)
    const data: Consent[] = []
    let index = Number(start)
    for (; index < records.length && data.length < Math.min(limit, largest); index += 1) {
      const kept = records[index]
      if (!kept || kept.at < least) break
      if (!gone?.has(kept.record.id)) data.push(kept.record)
    }
    const hasMore = (records[index]?.at ?? Number.NEGATIVE_INFINITY) >= least && index < records.length
    timelineOf.sent += data.length
    return { data, next_cursor: hasMore ? `${to}|${from}|${index}` : null }
  }
  const timelineOf: Timeline = {
    requests,
    sent: 0,
    list: async ({ query }) => {
      requests.push(query)
      const early = before?.(query)
      const page = early ?? answer(query)
      await wait?.()
      return page
    },
  }
  return timelineOf
}

/** The index of the first record that an upper bound lets through. */
function firstAt(records: readonly Kept[], to: string | undefined): number {
  if (to === undefined) return 0
  const bound = Date.parse(to)
  let [low, high] = [0, records.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((records[middle]?.at ?? 0) <= bound) high = middle
    else low = middle + 1
  }
  return low
}
