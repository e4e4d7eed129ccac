import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Sql } from 'postgres'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { connect } from '../../server/db/connect.ts'
import { insertChains } from '../server/purge/chains.ts'
import { brokenChains } from '../server/purge/purge.ts'
import { runBinary, start, useFolder } from '../support/cli.ts'
import { type ServerProcess, startServer } from '../support/server.ts'
import { newAccount } from '../support/service.ts'
import { isLongRun, newDatabase } from './campaign.ts'

const folder = useFolder()
const records = isLongRun ? 20_000 : 3000
const kills = isLongRun ? 12 : 2
const databaseName = 'consentctl_test_purge'

const engines = [
  { name: 'the embedded database', args: () => ['--data-dir', join(folder.path, 'data')] },
  ...(inject('clusterUrl')
    ? [
        {
          name: 'a real PostgreSQL',
          args: () => ['--database-url', `${inject('clusterUrl')}/${databaseName}`],
        },
      ]
    : []),
]

describe.each(engines)('admin purge beside a running server, on $name', ({ args }) => {
  const env = () => ({ HOME: folder.path, LOG_LEVEL: 'silent' })
  let server: ServerProcess
  let sql: Sql

  beforeAll(async () => {
    if (inject('clusterUrl')) await newDatabase(databaseName)
    server = await startServer([...args(), '--port', '0'], env())
    const [flag, place = ''] = args()
    sql = connect({ target: flag === '--data-dir' ? { folder: place } : { url: place }, max: 1 })
  })
  afterAll(async () => {
    await sql?.end()
    await server?.end('SIGKILL')
  })

  it('when it is killed by SIGKILL, leaves every record whole, and the next purge continues', async () => {
    const account = await newAccount(sql)
    await insertChains(sql, account, { records, entries: 3, preferences: step => ({ step }) })
    const command = ['admin', 'purge', '--older-than', '0', '--yes', ...args()]
    const counts: number[] = []
    for (let kill = 0; kill < kills; kill += 1) {
      await killed(sql, command, env())
      counts.push(await purgedOf(sql))
      expect(await brokenChains(sql, account.accountId)).toEqual([])
    }
    const { code, stdout, stderr } = await runBinary(command, { env: env() })
    expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' })
    const left = records - (counts.at(-1) ?? 0)
    expect(stdout).toBe(left > 0 ? `${account.accountId}\t0\t${left}\t0\n` : '')
    expect(counts[0]).toBeLessThan(records)
    expect(await purgedOf(sql)).toBe(records)
    expect(await brokenChains(sql, account.accountId)).toEqual([])
  })

  it('at SIGINT, exits after the current records and reports what was done', async () => {
    const account = await newAccount(sql)
    await insertChains(sql, account, { records: 4000, entries: 2 })
    const before = await purgedOf(sql)
    const { child, ended } = start(['admin', 'purge', '--older-than', '0', '--yes', ...args()], env())
    while (child.exitCode === null && (await purgedOf(sql)) === before) await delay(1)
    child.kill('SIGINT')
    const { code, stdout, stderr } = await ended
    const done = (await purgedOf(sql)) - before
    expect({ code, stderr }).toEqual({
      code: 130,
      stderr: expect.stringMatching(/^purged \d+ records\ninterrupted: run it again to purge the rest\n$/),
    })
    expect(stdout).toBe(`${account.accountId}\t0\t${done}\t0\n`)
    expect(done).toBeLessThan(4000)
    expect(await brokenChains(sql, account.accountId)).toEqual([])
  })
})

/** Starts a purge, and kills it a moment after it has purged something. */
async function killed(sql: Sql, command: readonly string[], env: NodeJS.ProcessEnv): Promise<void> {
  const before = await purgedOf(sql)
  const { child, ended } = start(command, env)
  while (child.exitCode === null && (await purgedOf(sql)) === before) await delay(1)
  await delay(20 * Math.random())
  child.kill('SIGKILL')
  await ended
  // Nobody has told the database, which finishes its statement.
  for (let seen = -1, now = await purgedOf(sql); seen !== now; now = await purgedOf(sql)) {
    seen = now
    await delay(200)
  }
}

async function purgedOf(sql: Sql): Promise<number> {
  const [row] = await sql<{ n: number }[]>`
    select count(*)::integer as n from consents where purged_at is not null`
  return row?.n ?? 0
}
