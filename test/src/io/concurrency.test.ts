import { setTimeout as delay } from 'node:timers/promises'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { inOrder } from '../../../src/io/concurrency.ts'

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
