import { setTimeout as delay, setImmediate as soon } from 'node:timers/promises'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ApiError, type Call, type Reply, UnorderedListError } from '../../../src/client/errors.ts'
import { type WalkedPage, walk } from '../../../src/client/pages.ts'
import type { ConsentQuery } from '../../../src/contract/index.ts'
import { instanceOf, type Kept, type Timeline, timeline } from './timeline.ts'

const everything = {
  limit: Number.POSITIVE_INFINITY,
  maxRequests: Number.POSITIVE_INFINITY,
  concurrency: 8,
  slow: -1, // however soon these answers come
}

/** The ids that a walk gives, and how many records were sent at most that it had not given yet. */
async function walked({ list, ...instance }: Timeline, query: ConsentQuery = {}, of = instance) {
  const ids: string[] = []
  let mostAhead = 0
  for await (const { records } of walk(list, query, everything)) {
    for (const { id } of records) ids.push(id)
    mostAhead = Math.max(mostAhead, of.sent - ids.length)
  }
  return { ids, mostAhead }
}

const idsOf = (records: readonly Kept[]) => records.map(({ record }) => record.id)

/** Answers that overtake each other. */
const latency = (seed: number) => {
  let state = seed
  return async () => {
    state = (state * 1103515245 + 12345) % 2147483648
    for (let turns = state % 7; turns > 0; turns -= 1) await soon()
  }
}

const runs = fc.array(
  fc.record({
    count: fc.oneof(fc.integer({ min: 1, max: 300 }), fc.integer({ min: 1000, max: 6000 })),
    gap: fc.constantFrom(0, 0.001, 0.013, 0.4, 1, 7, 900, 60_000, 7_000_000, 500_000_000),
  }),
  { minLength: 1, maxLength: 8 },
)

describe('a long list that is read in several places', () => {
  it('is given whole, each record once and in order, with 5 % more requests at most and a bounded look-ahead', async () => {
    const cases = fc.record({
      runs,
      digits: fc.constantFrom(3, 6),
      largest: fc.constantFrom(100, 100, 20),
      seed: fc.nat(),
    })
    await fc.assert(
      fc.asyncProperty(cases, async ({ runs, digits, largest, seed }) => {
        const records = timeline(runs, digits)
        const instance = instanceOf(records, { largest, wait: latency(seed) })
        const { ids, mostAhead } = await walked(instance, {}, instance)
        expect(ids).toEqual(idsOf(records))
        expect(instance.requests.length).toBeLessThanOrEqual(1.05 * Math.ceil(records.length / largest) + 8)
        expect(mostAhead).toBeLessThanOrEqual(300 * largest)
      }),
      { numRuns: 60 },
    )
  }, 60_000)
})

describe('how soon its answers come decides', () => {
  const records = timeline([{ count: 6000, gap: 90_000 }])
  const read = async (wait: () => Promise<unknown>) => {
    const instance = instanceOf(records, { wait })
    const ids: string[] = []
    for await (const page of walk(instance.list, {}, { ...everything, slow: undefined }))
      ids.push(...page.records.map(({ id }) => id))
    expect(ids).toEqual(idsOf(records))
    return instance.requests.filter(({ to }) => to).length
  }

  it('a list of quick answers is read in one place', async () => {
    expect(await read(soon)).toBe(0)
  })

  it('a list of slow ones in several', async () => {
    expect(await read(() => delay(15))).toBeGreaterThan(20)
  })
})

describe('a failure in the middle', () => {
  const records = timeline([
    { count: 3000, gap: 50_000 },
    { count: 4000, gap: 0.2 },
    { count: 3000, gap: 7_000_000 },
  ])
  const failure = new ApiError({} as Call, { status: 503 } as Reply, { error: 'unavailable', message: '' })

  it.each([17, 25, 31, 44, 60, 75, 98])(
    'from request %i on: its cursor and its bound go on without a gap',
    async count => {
      const instance = instanceOf(records, {
        wait: latency(count),
        before: () => {
          if (instance.requests.length >= count) throw failure
          return undefined
        },
      })
      const ids: string[] = []
      let last: WalkedPage | undefined
      const from = '2025-01-01T00:00:00Z'
      const interrupted = async () => {
        for await (const page of walk(instance.list, { from }, everything)) {
          last = page
          for (const { id } of page.records) ids.push(id)
        }
      }
      await expect(interrupted()).rejects.toBe(failure)
      const rest = { from, to: last?.to, cursor: last?.next ?? undefined }
      ids.push(...(await walked(instanceOf(records), rest)).ids)
      expect(ids).toEqual(idsOf(records.filter(({ at }) => at >= Date.parse(from))))
    },
  )

  it('of one place only is tried again when its turn comes', async () => {
    let failures = 0
    const before = ({ to, cursor }: ConsentQuery) => {
      if (!to || !cursor || failures > 0) return undefined
      failures += 1
      throw failure
    }
    expect((await walked(instanceOf(records, { before, wait: latency(3) }))).ids).toEqual(idsOf(records))
  })
})

describe('an instance that does otherwise', () => {
  const records = timeline([{ count: 12_000, gap: 90_000 }])
  const page = (from: number) => records.slice(from, from + 100).map(({ record }) => record)

  it.each([
    ['ignores the bound', { largest: 100 }, { data: page(0), next_cursor: 'again' }],
    ['answers an empty page with more behind it', {}, { data: [], next_cursor: 'more' }],
  ])('%s: it is walked in one place, and loses nothing', async (_, ways, foreign) => {
    const instance = instanceOf(records, { ...ways, before: ({ to }) => (to ? foreign : undefined) })
    expect((await walked(instance)).ids).toEqual(idsOf(records))
    expect(instance.requests.length).toBeLessThanOrEqual(121)
  })

  it('refuses the bound: it is walked in one place', async () => {
    const refusal = new ApiError({} as Call, { status: 400 } as Reply, {
      error: 'invalid_request',
      message: '',
    })
    const before = ({ to }: ConsentQuery) => {
      if (to) throw refusal
      return undefined
    }
    const instance = instanceOf(records, { before })
    expect((await walked(instance)).ids).toEqual(idsOf(records))
    expect(instance.requests.length).toBeLessThanOrEqual(121)
  })

  it('lists the oldest first: it is walked in one place', async () => {
    const instance = instanceOf([...records].reverse())
    expect((await walked(instance)).ids).toEqual(idsOf(records).reverse())
    expect(instance.requests).toHaveLength(120)
  })

  it('loses the records where two places meet while they are read: all others are given once, in order', async () => {
    const gone = new Set<string>()
    let cuts = 0
    const before = ({ to, cursor }: ConsentQuery) => {
      cuts += Number(to !== undefined && cursor === undefined)
      if (!to || cursor || cuts % 2) return undefined
      const first = records.findIndex(({ at }) => at <= Date.parse(to))
      setImmediate(() => {
        for (const id of idsOf(records.slice(first, first + 130))) gone.add(id)
      })
      return undefined
    }
    const { ids } = await walked(instanceOf(records, { gone, before, wait: latency(7) }))
    const given = new Set(ids)
    expect(gone.size).toBeGreaterThan(130)
    expect(ids).toEqual([...given].sort((a, b) => Number(a) - Number(b)))
    expect(idsOf(records).filter(id => !gone.has(id) && !given.has(id))).toEqual([])
  })

  it('has its order by something else, which shows late: that is an error where it may be a loss', async () => {
    let errors = 0
    for (let place = 2000; place < 6000; place += 400) {
      const moved = [...records]
      moved.splice(place, 0, ...moved.splice(9000, 50)) // as if they were changed later, all at once
      const ids = await walked(instanceOf(moved, { isUnordered: true })).then(
        ({ ids }) => ids,
        error => {
          expect(error).toBeInstanceOf(UnorderedListError)
          errors += 1
          return null
        },
      )
      if (ids) expect(ids).toEqual(idsOf(moved))
    }
    expect(errors).toBeGreaterThan(0)
  })
})
