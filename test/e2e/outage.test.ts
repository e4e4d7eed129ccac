import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { isLong } from './campaign.ts'
import { type Fault, hasStage, unready, useStage } from './database-faults.ts'

describe.skipIf(!hasStage)('every request is answered in time, and nothing is lost', () => {
  const stage = useStage({ proxied: false })
  const ended = (signal: 'SIGINT' | 'SIGQUIT' | 'SIGKILL') => ({
    lose: () => stage.postmaster.end(signal),
    restore: () => stage.postmaster.start(),
  })
  const frozen = {
    lose: async () => stage.postmaster.signal('SIGSTOP'),
    restore: async () => stage.postmaster.signal('SIGCONT'),
  }
  /** Ways to lose the database altogether, and how long in milliseconds, in the short form and in the long one. */
  const losses: [name: string, times: [short: number, long: number], Omit<Fault, 'ms'>][] = [
    ['is shut down', [0, 10_000], ended('SIGINT')],
    ['crashes', [1000, 10_000], ended('SIGQUIT')],
    ['is killed', [0, 10_000], ended('SIGKILL')],
    ['freezes', [6000, 30_000], frozen],
  ]
  const chosen = losses.filter(([, [short]]) => isLong || short > 0)

  it.each(chosen)('while PostgreSQL %s', { timeout: 300_000 }, async (name, [short, long], fault) => {
    const course = await stage.endure(`PostgreSQL ${name}`, { ...fault, ms: isLong ? long : short })
    expect(unready(course)).toBeLessThan(2000)
  })

  it('while PostgreSQL ends its connections every 50 ms', { timeout: 300_000 }, async () => {
    let ending: Promise<void>
    let isOver = false
    const end = async () => {
      while (!isOver) {
        await stage.sql`
          select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'consentctl'`
        await delay(50)
      }
    }
    await stage.endure('PostgreSQL ends its connections', {
      lose: async () => {
        ending = end()
      },
      ms: isLong ? 60_000 : 2000,
      restore: async () => {
        isOver = true
        await ending
      },
    })
  })
})
