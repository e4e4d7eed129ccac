import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type Event,
  openState,
  readEarlierRuns,
  type SentLine,
} from '../../../../../src/commands/consents/bulk/state.ts'

const reading = (events: readonly Event[]) =>
  async function* () {
    yield* events
  }

/** The state of each line by its events, without a bound of memory. */
function expectedOf(events: readonly Event[]): Map<number, SentLine> {
  const lines = new Map<number, SentLine>()
  for (const event of events) {
    const [kind, line] = event
    const sent = lines.get(line)
    if (kind === 's') lines.set(line, sent ?? { line, id: null, sentAt: event[2] })
    else if (kind === 'f') lines.delete(line)
    else if (kind === 'd' && sent) lines.set(line, { ...sent, id: event[2] })
  }
  return lines
}

async function findAll(events: readonly Event[], lines: number): Promise<SentLine[]> {
  const earlier = readEarlierRuns(reading(events))
  const found: SentLine[] = []
  for (let line = 1; line <= lines; line += 1) {
    const sent = await earlier.find(line)
    if (sent) found.push(sent)
  }
  await earlier.close()
  return found
}

/** The results that one run may write for a line that it sends, by whether it may have been created before. */
const results = (line: number, at: number, wasUnknown: boolean): Event[][] => [
  [],
  [['u', line]],
  [['d', line, `id-${line}-${at}`]],
  ...(wasUnknown ? [] : [[['f', line, 'invalid_request'] as const]]),
]

/**
 * Runs that each send what is not created, in order, and end somewhere. `choices` picks the results; a result is written
 * up to `delay` lines after its line.
 */
function runsOf(lines: number, ends: readonly number[], choices: readonly number[], delay: number): Event[] {
  const events: Event[] = []
  let choice = 0
  for (const [run, end] of ends.entries()) {
    const before = expectedOf(events)
    const waiting: Event[][] = []
    for (let line = 1; line <= Math.min(end, lines); line += 1) {
      const sent = before.get(line)
      if (sent?.id) continue
      events.push(['s', line, run * 1000 + line])
      const possible = results(line, run, sent !== undefined)
      waiting.push(possible[(choices[choice++ % choices.length] ?? 0) % possible.length] ?? [])
      if (waiting.length > delay) events.push(...(waiting.shift() ?? []))
    }
    events.push(...waiting.reverse().flat())
  }
  return events
}

describe('readEarlierRuns', () => {
  it('tells of each line whether it was created and since when it is unknown, after any number of runs', async () => {
    const lines = 30
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 1, max: lines }), { minLength: 1, maxLength: 5 }),
        fc.array(fc.nat(20), { minLength: 1, maxLength: 60 }),
        fc.nat(6),
        async (ends, choices, delay) => {
          const events = runsOf(lines, ends, choices, delay)
          const known = ({ line, id, sentAt }: SentLine) => (id ? { line, id } : { line, sentAt })
          const expected = [...expectedOf(events).values()].sort((a, b) => a.line - b.line)
          expect((await findAll(events, lines)).map(known)).toEqual(expected.map(known))
        },
      ),
      { numRuns: 300 },
    )
  })

  it('finds more lines that were sent again than it holds at once, by reading the events again', async () => {
    const lines = 260_000
    const first = Array.from({ length: lines }, (_, index): Event[] => [
      ['s', index + 1, 1],
      ['f', index + 1, 'not_found'],
    ])
    const second = Array.from({ length: lines }, (_, index): Event[] => [
      ['s', index + 1, 2],
      ...(index % 2 === 0 ? [['d', index + 1, `id-${index + 1}`] as const] : []),
    ])
    let readings = 0
    const events = [...first.flat(), ...second.flat()]
    const earlier = readEarlierRuns(() => {
      readings += 1
      return reading(events)()
    })
    for (let line = 1; line <= lines; line += 1) {
      const sent = await earlier.find(line)
      const id = line % 2 === 1 ? `id-${line}` : null
      if (sent?.id !== id || sent?.line !== line) expect(sent).toEqual({ line, id, sentAt: 2 })
    }
    expect(readings).toBe(3) // of the first sends, and twice of those sent again
  })
})

describe('JobState.close', () => {
  it('records lines that were written ahead and not sent, unless they may exist since an earlier run', async () => {
    const events: Event[] = []
    const state = openState({
      header: { job: '5f0d7c0e-3a56-4f0e-9d0a-0d5a2f6c1b7e' },
      isResumed: true,
      earlierEvents: reading([]),
      append: async (...more) => void events.push(...more),
      appendSoon: event => void events.push(event),
      requireHeld: async () => {},
      close: async () => {},
    })
    await state.writeAhead([
      { number: 1, wasSent: false },
      { number: 2, wasSent: true },
      { number: 3, wasSent: false },
    ])
    state.sending([3])
    await state.close(false)
    expect(events.slice(3)).toEqual([['f', 1, 'unsent']])
  })
})
