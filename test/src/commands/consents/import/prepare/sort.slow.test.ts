import { mkdirSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { openSorter } from '../../../../../../src/commands/consents/import/prepare/sort.ts'
import { useFolder } from '../../../../../support/cli.ts'

type Item = readonly [string, number, number, string]

const folder = useFolder()

async function sort(items: readonly Item[], name: string) {
  const path = join(folder.path, name)
  mkdirSync(path)
  const sorter = openSorter<Item>(path, { runLength: 200, fanIn: 3 })
  for (const item of items) await sorter.add(item)
  const modes = readdirSync(path).map(file => statSync(join(path, file)).mode & 0o777)
  const sorted: Item[] = []
  for await (const batch of sorter.sorted()) sorted.push(...batch)
  return { sorted, modes, left: readdirSync(path) }
}

it('sorts as in memory, over several merges, by private files that it removes', async () => {
  let run = 0
  const entry = fc.tuple(fc.string({ unit: 'grapheme', maxLength: 5 }), fc.integer({ min: 0, max: 3 }), fc.string())
  await fc.assert(
    fc.asyncProperty(fc.array(entry, { maxLength: 150 }), async entries => {
      const items = entries.map(([id, at, rest], index) => [id, at, index, rest] as const)
      run += 1
      const { sorted, modes, left } = await sort(items, String(run))
      const expected = items.toSorted((a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0) || a[1] - b[1] || a[2] - b[2])
      expect(sorted).toEqual(expected)
      expect(modes.every(mode => mode === 0o600)).toBe(true)
      expect(left).toEqual([])
    }),
    { numRuns: 15 },
  )
})

it('reads items that are longer than what it reads at once', async () => {
  const items = ['b', 'a', 'c'].map((id, index) => [id, 0, index, 'x\n\t'.repeat(30_000)] as const)
  const { sorted } = await sort(items, 'long')
  expect(sorted.map(([id]) => id)).toEqual(['a', 'b', 'c'])
  expect(sorted[0]?.[3]).toBe(items[1]?.[3])
})
