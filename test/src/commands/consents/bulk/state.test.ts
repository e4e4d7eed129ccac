import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  countEarlier,
  type Earlier,
  type Entry,
  openState,
  type Result,
  readEarlierRuns,
} from '../../../../../src/commands/consents/bulk/state.ts'

const toRun = (entries: readonly Entry[]) =>
  async function* () {
    yield* entries
  }

async function findAll(runs: readonly (readonly Entry[])[], lines: number): Promise<(Earlier | null)[]> {
  const earlier = await readEarlierRuns(runs.map(toRun))
  const found: (Earlier | null)[] = []
  for (let line = 1; line <= lines; line += 1) found.push(await earlier.find(line))
  await earlier.close()
  return found
}

interface End {
  /** The lines that the run sent before it ended. */
  readonly sent: number
  /** The lines that the run had recorded as begun beyond these. */
  readonly ahead: number
  /** The results at the end that were not on the disk. */
  readonly lost: number
  readonly isKilled: boolean
}

/** What a run writes that knows of each line what is in `known`, and what is known after it. */
function runOf(
  known: (Earlier | null)[],
  { sent, ahead, lost, isKilled }: End,
  at: number,
  choices: readonly number[],
) {
  const entries: Entry[] = []
  const after = [...known]
  const written = isKilled ? Math.max(0, sent - lost) : sent
  let begun = 0
  for (let line = 1; line <= sent; line += 1) {
    const earlier = known[line - 1] ?? null
    const sentAt = earlier?.id === null ? earlier.sentAt : null
    if (earlier !== null && earlier.id !== null) continue
    if (line > begun) {
      begun = line + ahead
      entries.push(['s', begun, at])
    }
    const possible: Result[] = [
      [line, `${line}-${at}`],
      [line, sentAt ?? at],
      [line, null],
      [line, `${line}`, 'unchanged'],
    ]
    const result = possible[(choices[line % choices.length] ?? 0) % 4] as Result
    if (line > written) continue
    entries.push(['r', result])
    const [, id, how] = result
    after[line - 1] = typeof id === 'string' ? { id, how } : id === null ? null : { id: null, sentAt: id }
  }
  if (!isKilled) entries.push(['e'])
  else
    for (let line = written + 1; line <= Math.min(begun, after.length); line += 1) {
      const before = after[line - 1]
      if (before?.id !== null && before) continue
      const times = entries.flatMap(([kind, to, since]) =>
        kind === 's' && (to as number) >= line ? [since as number] : [],
      )
      after[line - 1] = { id: null, sentAt: Math.min(before?.sentAt ?? Number.POSITIVE_INFINITY, ...times) }
    }
  return { entries, after }
}

describe('readEarlierRuns', () => {
  it('after any number of runs, returns for each line whether it is done, and since when it may be', async () => {
    const lines = 30
    const end = fc.record({
      sent: fc.integer({ min: 0, max: lines }),
      ahead: fc.nat(8),
      lost: fc.nat(6),
      isKilled: fc.boolean(),
    })
    await fc.assert(
      fc.asyncProperty(
        fc.array(end, { minLength: 1, maxLength: 5 }),
        fc.array(fc.nat(20), { minLength: 1, maxLength: 60 }),
        async (ends, choices) => {
          const runs: Entry[][] = []
          let known: (Earlier | null)[] = Array(lines).fill(null)
          for (const [index, each] of ends.entries()) {
            const { entries, after } = runOf(known, each, (index + 1) * 1000, choices)
            runs.push(entries)
            known = after
          }
          expect(await findAll(runs, lines)).toEqual(known)
          const done = known.filter(line => line !== null && line.id !== null)
          const unchanged = done.filter(line => line?.id !== null && line?.how === 'unchanged')
          expect(await countEarlier(runs.map(toRun))).toEqual({
            doneBefore: done.length,
            unchangedBefore: unchanged.length,
          })
        },
      ),
      { numRuns: 500 },
    )
  })
})

describe('openState', () => {
  const job = '5f0d7c0e-3a56-4f0e-9d0a-0d5a2f6c1b7e'

  /** A state whose writes resolve when `release` is called. */
  async function heldState() {
    const entries: Entry[] = []
    const writes: (() => void)[] = []
    const state = await openState({
      header: { job },
      earlierRuns: [],
      append: async (...more) => {
        await new Promise<void>(resolve => writes.push(resolve))
        entries.push(...more)
      },
      requireHeld: async () => {},
      close: async () => {},
    })
    const release = () => {
      for (const write of writes.splice(0)) write()
    }
    return { state, entries, release, writes }
  }

  it('resolves when the line is recorded on disk, and records the next lines ahead', async () => {
    const { state, entries, release, writes } = await heldState()
    let begun = 0
    const begin = (line: number) => state.begin(line, 10).then(() => (begun = line))
    const first = begin(1)
    await Promise.resolve()
    expect(begun).toBe(0)
    release()
    await first
    expect(entries).toEqual([['s', 11, expect.any(Number)]])
    await begin(6)
    expect(writes).toHaveLength(0)
    await begin(7) // recorded to 11, and asks for more in time
    expect([begun, writes.length]).toEqual([7, 1])
    const waiting = begin(12)
    await Promise.resolve()
    expect(begun).toBe(7)
    release()
    await waiting
    expect(entries.at(-1)).toEqual(['s', 17, expect.any(Number)])
  })

  it('writes results with the next line’s start, and immediately if the lines cannot be resent', async () => {
    const { state, entries, release, writes } = await heldState()
    state.ended([[1, 'a']], true)
    expect(writes).toHaveLength(0)
    state.ended([[2, null]], false)
    expect(writes).toHaveLength(1)
    release()
    await expect.poll(() => entries).toEqual([['r', [1, 'a'], [2, null]]])
  })
})
