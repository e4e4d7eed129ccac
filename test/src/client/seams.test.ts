import { setTimeout as sleep, setImmediate as soon } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { ApiError, type Call, type Reply } from '../../../src/client/errors.ts'
import { type List, walk } from '../../../src/client/pages.ts'
import { instanceOf, timeline } from './timeline.ts'

const everything = {
  limit: Number.POSITIVE_INFINITY,
  maxRequests: Number.POSITIVE_INFINITY,
  concurrency: 8,
}

/** Numbers below a bound, the same for the same seed. */
function numbers(seed: number): (bound: number) => number {
  let state = (seed * 2654435761) % 2147483648
  return bound => {
    state = (state * 1103515245 + 12345) % 2147483648
    return Math.floor(state / 65536) % bound
  }
}

describe('a place whose first page is late', () => {
  it.each([8, 19, 23, 44, 46, 69])('is joined by the one before it without a loss (%i)', async seed => {
    const below = numbers(seed)
    const runs = [{ count: 1700, gap: 60_000 }]
    for (let index = 0; index < 4 + below(5); index += 1)
      runs.push({
        count: 300 + below(5000),
        gap: [1, 7, 900, 9000, 60_000, 900_000][below(6)] ?? 1,
      })
    const records = timeline(runs)
    let turns = 0
    const instance = instanceOf(records, {
      before: ({ to, cursor }) => {
        turns = to && !cursor && below(3) === 0 ? 100 + below(300) : below(4)
        return undefined
      },
      wait: async () => {
        for (let left = turns; left > 0; left -= 1) await soon()
      },
    })
    const ids: string[] = []
    for await (const page of walk(instance.list, {}, everything))
      ids.push(...page.records.map(({ id }) => id))
    expect(ids).toHaveLength(records.length)
    expect(ids.findIndex((id, index) => id !== records[index]?.record.id)).toBe(-1)
  })
})

describe('while nobody reads on', () => {
  const refusal = (status: number, error: string) =>
    new ApiError({} as Call, { status } as Reply, { error, message: '' })

  it.each([
    ['a quota that is used up', refusal(429, 'quota_exceeded')],
    ['an instance that refuses', refusal(403, 'forbidden')],
    ['Ctrl-C', new Error('interrupted')],
  ])('%s is not asked again and again', async (_, failure) => {
    const instance = instanceOf(timeline([{ count: 60_000, gap: 60_000 }]), { wait: () => sleep(1) })
    let [isRefusing, refused] = [false, 0]
    const list: List = async input => {
      if (!isRefusing) return await instance.list(input)
      refused += 1
      if (refused > 100) return await new Promise<never>(() => {}) // nothing else would have its turn
      throw failure
    }
    let pages = 0
    const walked = async () => {
      for await (const _ of walk(list, {}, everything)) {
        pages += 1
        if (pages !== 60) continue
        isRefusing = true
        await sleep(300)
      }
    }
    await expect(walked()).rejects.toBe(failure)
    expect(refused).toBeLessThanOrEqual(30)
  })
})
