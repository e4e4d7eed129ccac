import { describe, expect, it } from 'vitest'
import { isLongRun } from './campaign.ts'
import { canBreakDatabase, type Fault, msUntilUnready, useFaultyDatabase } from './database-faults.ts'

describe.skipIf(!canBreakDatabase)('service › responds to every request in time and loses nothing', () => {
  const database = useFaultyDatabase({ proxied: false })
  const ended = (signal: 'SIGINT' | 'SIGQUIT' | 'SIGKILL') => ({
    begin: () => database.postgres.end(signal),
    end: () => database.postgres.start(),
  })
  const frozen = {
    begin: async () => database.postgres.signal('SIGSTOP'),
    end: async () => database.postgres.signal('SIGCONT'),
  }
  /** Ways to lose the database altogether, and how long in milliseconds, in the short form and in the long one. */
  const losses: [name: string, times: [short: number, long: number], Omit<Fault, 'durationMs'>][] = [
    ['is shut down', [0, 10_000], ended('SIGINT')],
    ['crashes', [1000, 10_000], ended('SIGQUIT')],
    ['is killed', [0, 10_000], ended('SIGKILL')],
    ['freezes', [6000, 30_000], frozen],
  ]
  const chosen = losses.filter(([, [short]]) => isLongRun || short > 0)

  it.each(chosen)('while PostgreSQL %s', { timeout: 300_000 }, async (name, [short, long], fault) => {
    const report = await database.runUnderLoad(`PostgreSQL ${name}`, {
      ...fault,
      durationMs: isLongRun ? long : short,
    })
    expect(msUntilUnready(report)).toBeLessThan(2000)
  })
})
