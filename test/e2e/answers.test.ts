import { setTimeout as delay } from 'node:timers/promises'
import type { Sql } from 'postgres'
import { describe, expect, it, vi } from 'vitest'
import { connect } from '../../server/db/connect.ts'
import { isLongRun, tally } from './campaign.ts'
import { canBreakDatabase, useFaultyDatabase } from './database-faults.ts'

const clients = 32

describe.skipIf(!canBreakDatabase)('postgres pool › each statement gets its own result or an error', () => {
  const database = useFaultyDatabase({ proxied: true })
  const losses: [how: string, lose: () => unknown][] = [
    ['reset', () => database.proxy.reset()],
    ['half closed', () => database.proxy.halfClose()],
    [
      'ended by the database',
      () =>
        database.sql`
          select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'consentctl'`,
    ],
  ]

  it.each(losses)('while connections are repeatedly %s', { timeout: 60_000 }, async (_how, lose) => {
    const sql = connect({
      target: { url: `postgres://postgres@127.0.0.1:${database.proxy.port}/postgres` },
      max: 10,
    })
    const answers: string[] = []
    const countRight = () => answers.filter(answer => answer === 'right').length
    let isAsking = true
    const client = async (number: number) => {
      for (let count = 0; isAsking; count += 1) answers.push(await ask(sql, number, count))
    }
    const asking = Promise.all(Array.from({ length: clients }, (_, number) => client(number)))
    for (let round = 0; round < (isLongRun ? 300 : 20); round += 1) {
      const before = countRight()
      await vi.waitFor(() => expect(countRight()).toBeGreaterThan(before + clients), { timeout: 20_000, interval: 5 })
      await lose()
    }
    isAsking = false
    await asking
    await sql.end({ timeout: 1 })
    expect(tally(answers.filter(answer => answer !== 'right' && answer !== 'error'))).toBe('')
    expect(answers).toContain('error')
  })
})

/** Asks for one row or for many that all bear the question's own number. */
async function ask(sql: Sql, client: number, count: number): Promise<string> {
  const wanted = count % 3 === 0 ? 200 : 1
  const number = client * 1_000_000 + count
  try {
    const rows = await sql`select ${number}::int as number from generate_series(1, ${wanted}::int)`
    if (rows.length !== wanted) return `${rows.length - wanted} rows too many`
    return rows.every(row => row?.['number'] === number) ? 'right' : 'rows of another statement'
  } catch {
    await delay(5)
    return 'error'
  }
}
