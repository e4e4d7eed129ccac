import { setTimeout as delay } from 'node:timers/promises'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { inGroups } from '../../../src/io/groups.ts'

/** Groups of at most this many items. */
const counted = (source: AsyncIterable<number[]>, items: () => number) =>
  inGroups(
    source,
    () => 1,
    async () => ({ items: items(), bytes: Number.POSITIVE_INFINITY }),
  )

async function collect<T>(groups: AsyncIterable<readonly T[]>): Promise<(readonly T[])[]> {
  const all: (readonly T[])[] = []
  for await (const group of groups) all.push(group)
  return all
}

it('inGroups yields every item once, in order, in groups of at most the given size', async () => {
  const parts = fc.array(fc.array(fc.integer({ min: 1, max: 9 }), { maxLength: 7 }), { maxLength: 6 })
  const sizes = fc.record({ items: fc.integer({ min: 1, max: 5 }), bytes: fc.integer({ min: 1, max: 20 }) })
  await fc.assert(
    fc.asyncProperty(parts, sizes, async (given, most) => {
      async function* arriving() {
        yield* given
      }
      const groups = await collect(
        inGroups(
          arriving(),
          item => item,
          async () => most,
        ),
      )
      expect(groups.flat()).toEqual(given.flat())
      for (const group of groups) {
        const bytes = group.reduce((sum, item) => sum + item, 0)
        expect(group.length).toBeGreaterThan(0)
        expect(group.length).toBeLessThanOrEqual(most.items)
        if (group.length > 1) expect(bytes).toBeLessThanOrEqual(most.bytes)
      }
    }),
  )
})

it('inGroups yields a group 50 ms after its first item, even if more items arrive', async () => {
  async function* slow() {
    for (let item = 0; item < 30; item += 1) {
      await delay(20)
      yield [item]
    }
  }
  const groups = await collect(counted(slow(), () => 1000))
  expect(groups.flat()).toHaveLength(30)
  for (const group of groups) expect(group.length).toBeLessThanOrEqual(5)
})

it('inGroups yields the items before an error of the source, then throws it', async () => {
  async function* broken() {
    yield [1, 2]
    yield [3]
    throw new Error('no more')
  }
  const seen: number[] = []
  const read = async () => {
    for await (const group of counted(broken(), () => 2)) seen.push(...group)
  }
  await expect(read()).rejects.toThrow('no more')
  expect(seen).toEqual([1, 2, 3])
})

it('inGroups reads the size before each group, and ends its source when its reader stops', async () => {
  let isEnded = false
  async function* endless() {
    try {
      for (;;) yield [0, 0, 0, 0, 0, 0]
    } finally {
      isEnded = true
    }
  }
  const lengths: number[] = []
  for await (const { length } of counted(endless(), () => lengths.length + 1)) {
    lengths.push(length)
    if (lengths.length === 4) break
  }
  expect(lengths).toEqual([1, 2, 3, 4])
  expect(isEnded).toBe(true)
})
