import { setTimeout as delay } from 'node:timers/promises'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { inOrder, inOrderTogether } from '../../../src/io/concurrency.ts'

async function* from<T>(items: Iterable<T>): AsyncGenerator<T> {
  yield* items
}

async function collect<T>(results: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const result of results) all.push(result)
  return all
}

it('results come in the order of the items, with never more than the limit under way', async () => {
  const delays = fc.array(fc.nat(3), { maxLength: 20 })
  await fc.assert(
    fc.asyncProperty(delays, fc.integer({ min: 1, max: 9 }), async (items, limit) => {
      let [running, most] = [0, 0]
      const work = async (item: number) => {
        running += 1
        most = Math.max(most, running)
        await delay(item)
        running -= 1
        return item
      }
      expect(await collect(inOrder(from(items), limit, work))).toEqual(items)
      expect(most).toBeLessThanOrEqual(limit)
      expect(running).toBe(0)
    }),
    { numRuns: 40 },
  )
})

it('uses the room it has', async () => {
  let [running, most] = [0, 0]
  const work = async () => {
    running += 1
    most = Math.max(most, running)
    await delay(5)
    running -= 1
  }
  await collect(inOrder(from(Array(20).keys()), 8, work))
  expect(most).toBe(8)
})

it('takes no item before there is room for it, so an endless source is no trouble', async () => {
  let taken = 0
  function* endless() {
    for (;;) {
      taken += 1
      yield taken
    }
  }
  for await (const result of inOrder(from(endless()), 4, async item => item)) if (result === 10) break
  expect(taken).toBeLessThanOrEqual(15)
})

it('waits for what is under way when its reader stops early', async () => {
  let finished = 0
  const work = async (item: number) => {
    await delay(item * 5)
    finished += 1
    return item
  }
  let started = 0
  const counted = (item: number) => {
    started += 1
    return work(item)
  }
  for await (const _ of inOrder(from([1, 2, 3, 4, 5]), 3, counted)) break
  expect(finished).toBe(started)
})

it('the results of all that was begun come before an error of the source', async () => {
  async function* broken() {
    yield 1
    yield 2
    throw new Error('the disk broke')
  }
  const seen: number[] = []
  const reading = (async () => {
    for await (const result of inOrder(broken(), 8, async item => item)) seen.push(result)
  })()
  await expect(reading).rejects.toThrow('the disk broke')
  expect(seen).toEqual([1, 2])
})

describe('of results that are read together', () => {
  const room = (most: number) => ({ limit: 2, most, sizeOf: () => 1 })

  it('those that wait for a slow one come with it, and others were begun meanwhile', async () => {
    const work = async (item: number) => {
      await delay(item === 0 ? 60 : 1)
      return item
    }
    const seen = await collect(inOrderTogether(from(Array(12).keys()), room(6), work))
    expect(seen.flat()).toEqual([...Array(12).keys()])
    expect(seen[0]).toEqual([0, 1, 2, 3, 4, 5])
  })

  it('no more are begun than may be held, however slow their reader is', async () => {
    let begun = 0
    const work = async (item: number) => {
      begun += 1
      return item
    }
    let read = 0
    for await (const results of inOrderTogether(from(Array(50).keys()), room(6), work)) {
      await delay(1)
      expect(begun - read).toBeLessThanOrEqual(6)
      read += results.length
    }
    expect(read).toBe(50)
  })

  it('those before one that failed come first', async () => {
    const work = async (item: number) => {
      if (item === 3) throw new Error('no')
      return item
    }
    const seen: number[] = []
    const reading = (async () => {
      for await (const results of inOrderTogether(from(Array(9).keys()), room(6), work)) seen.push(...results)
    })()
    await expect(reading).rejects.toThrow('no')
    expect(seen).toEqual([0, 1, 2])
  })
})
