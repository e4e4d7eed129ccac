import { setTimeout as delay } from 'node:timers/promises'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { mapInOrder } from '../../../src/io/concurrency.ts'

async function* generate<T>(items: Iterable<T>): AsyncGenerator<T> {
  yield* items
}

async function collect<T>(results: AsyncIterable<T>, into: T[] = []): Promise<T[]> {
  for await (const result of results) into.push(result)
  return into
}

const itself = async <T>(item: T) => item

describe('mapInOrder', () => {
  it('yields the results in item order, with at most the allowed number of calls in flight', async () => {
    const delays = fc.array(fc.nat(3), { maxLength: 20 })
    await fc.assert(
      fc.asyncProperty(delays, fc.integer({ min: 1, max: 9 }), async (items, concurrency) => {
        let [running, most] = [0, 0]
        const map = async (item: number) => {
          running += 1
          most = Math.max(most, running)
          await delay(item)
          running -= 1
          return item
        }
        expect(await collect(mapInOrder(generate(items), { concurrency }, map))).toEqual(items)
        expect(most).toBe(Math.min(items.length, concurrency))
        expect(running).toBe(0)
      }),
      { numRuns: 40 },
    )
  })

  it('starts others while a slow one holds back the results, up to the maximum size', async () => {
    let started = 0
    const map = async (item: number) => {
      started += 1
      if (item === 0) await delay(60)
      return started
    }
    const room = { concurrency: 2, maxSize: () => 60, sizeOf: () => 10 }
    const [first] = await collect(mapInOrder(Array(12).keys(), room, map))
    expect(first).toBe(6)
  })

  it.each([{ concurrency: 2, maxSize: () => 6 }, { concurrency: 6 }])(
    'when its reader is slow, never holds more than the maximum size plus one item: %j',
    async bounds => {
      let [taken, read] = [0, 0]
      const items = function* () {
        for (let item = 0; item < 50; item += 1) {
          taken += 1
          yield item
        }
      }
      for await (const _ of mapInOrder(items(), bounds, itself)) {
        await delay(1)
        expect(taken - read).toBeLessThanOrEqual(6)
        read += 1
      }
      expect(read).toBe(50)
    },
  )

  it('yields the results before an error of a call or of the source, then throws it', async () => {
    async function* broken() {
      yield 1
      yield 2
      throw new Error('the disk broke')
    }
    const seen: number[] = []
    await expect(collect(mapInOrder(broken(), { concurrency: 8 }, itself), seen)).rejects.toThrow('the disk broke')
    expect(seen).toEqual([1, 2])
    const map = async (item: number) => {
      if (item === 3) throw new Error('no')
      return item
    }
    const mapped: number[] = []
    await expect(collect(mapInOrder(Array(9).keys(), { concurrency: 2 }, map), mapped)).rejects.toThrow('no')
    expect(mapped).toEqual([0, 1, 2])
  })

  it('when its reader stops, waits for the calls in flight and for the end of the source', async () => {
    let [started, ended, isSourceEnded] = [0, 0, false]
    async function* items() {
      try {
        for (let item = 1; ; item += 1) {
          await delay(1)
          yield item
        }
      } finally {
        await delay(5)
        isSourceEnded = true
      }
    }
    const map = async (item: number) => {
      started += 1
      await delay(item * 5)
      ended += 1
    }
    for await (const _ of mapInOrder(items(), { concurrency: 3 }, map)) break
    expect([ended, isSourceEnded]).toEqual([started, true])
    await delay(30)
    expect(ended).toBe(started)
  })

  it('ends when its reader stops while the source waits for capacity', async () => {
    let [taken, isSourceEnded] = [0, false]
    async function* items() {
      try {
        for (; taken < 50; taken += 1) yield taken
      } finally {
        isSourceEnded = true
      }
    }
    for await (const _ of mapInOrder(items(), { concurrency: 4, maxSize: () => 4 }, itself)) {
      await delay(10)
      break
    }
    expect([isSourceEnded, taken < 10]).toEqual([true, true])
  })
})
