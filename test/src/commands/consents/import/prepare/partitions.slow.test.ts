import { mkdirSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { type Event, openPartitions } from '../../../../../../src/commands/consents/import/prepare/partitions.ts'
import { useFolder } from '../../../../../support/cli.ts'

const folder = useFolder()

let run = 0

async function sort(events: readonly Event[], limits = { length: 300, personLength: 3000, partitions: 3 }) {
  run += 1
  const path = join(folder.path, String(run))
  mkdirSync(path)
  const partitions = openPartitions(path, limits)
  for (const event of events) await partitions.add(event)
  const modes = readdirSync(path).map(file => statSync(join(path, file)).mode & 0o777)
  const sorted: Event[] = []
  for await (const batch of partitions.sorted()) sorted.push(...batch)
  return { sorted, modes, left: readdirSync(path) }
}

function answer(originId: string, at: number, sequence: number, subject_id = 'x', isSilent = false): Event {
  const silence = isSilent ? ({ table: 'values', value: '' } as const) : null
  const said = { version: 1, accepted: null, purposes: [['a', true]] as const, details: { subject_id }, silence }
  return { originId, at, sequence, part: 0, line: sequence, ...said }
}

it('yields the rows of one person after the other, sorted by time, and removes its private files', async () => {
  const entry = fc.tuple(fc.string({ unit: 'grapheme', maxLength: 5 }), fc.integer({ min: 0, max: 3 }))
  await fc.assert(
    fc.asyncProperty(fc.array(entry, { maxLength: 150 }), async entries => {
      const events = entries.map(([id, at], sequence) => answer(id, at, sequence))
      const { sorted, modes, left } = await sort(events, { length: 300, personLength: 1_000_000, partitions: 3 })
      const persons = sorted.map(({ originId }) => originId).filter((id, index, ids) => id !== ids[index - 1])
      expect(new Set(persons).size).toBe(persons.length)
      for (const person of persons)
        expect(sorted.filter(({ originId }) => originId === person)).toEqual(
          events
            .filter(({ originId }) => originId === person)
            .toSorted((a, b) => a.at - b.at || a.sequence - b.sequence),
        )
      expect(sorted).toHaveLength(events.length)
      expect([modes.every(mode => mode === 0o600), left]).toEqual([true, []])
    }),
    { numRuns: 15 },
  )
})

it('reads events that are longer than a chunk', async () => {
  const long = ['b', 'a', 'c'].map((id, sequence) => answer(id, 0, sequence, 'x\n\t\u2028'.repeat(30_000)))
  const { sorted } = await sort(long, { length: 300, personLength: 1_000_000, partitions: 3 })
  expect(sorted.toSorted((a, b) => a.sequence - b.sequence)).toEqual(long)
})

it('when the rows of one person do not fit into memory, rejects only that person', async () => {
  const many = Array.from({ length: 100 }, (_, at) => answer('long', 100 - at, at, 'x', at === 7))
  const { sorted, left } = await sort([answer('a', 1, 200), ...many, answer('b', 1, 201)])
  const refused = sorted.filter(({ originId }) => originId === 'long')
  expect(refused).toHaveLength(99)
  const problem = { reason: 'too_large', message: expect.any(String) }
  expect(refused).toEqual(refused.map(event => expect.objectContaining({ ...event, at: 0, problem })))
  expect(sorted.filter(({ originId }) => originId !== 'long')).toHaveLength(2)
  expect(left).toEqual([])
})
