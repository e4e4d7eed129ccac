import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { listAccounts, purge } from '../../../server/admin.ts'
import { takeCheckpoints, verifyDatabase } from '../../../server/verify/admin.ts'
import type { DatabaseOptions, ServerHost } from '../../../src/contract/server.ts'
import { useDatabase } from '../../support/database.ts'

const host: ServerHost = { env: {} }
const { signal } = new AbortController()
const inspection = { kept: [], signal }

async function readAll(items: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of items);
}

const commands: [name: string, run: (options: DatabaseOptions) => Promise<unknown>][] = [
  ['account list', options => listAccounts(options, host)],
  ['verify', options => readAll(verifyDatabase(options, inspection, host).findings)],
  ['checkpoint', options => takeCheckpoints(options, inspection, host)],
  [
    'purge',
    options => {
      const onNothing = async () => {}
      const order = { olderThan: 1, approve: async () => true, onUnverified: onNothing, onProblem: onNothing, signal }
      return readAll(purge(options, order, host))
    },
  ],
]

const hasSessions = process.env['TEST_ENGINE'] === 'postgres'

describe.skipIf(!hasSessions)('admin commands › when the connection is lost during a command', () => {
  const database = useDatabase()

  it.each(commands)('%s reports the lost connection, not a bug', async (_, run) => {
    const { sql } = database
    const { host: [name = ''] = [], port: [port = 5432] = [], user, database: db } = sql.options
    const options = { databaseUrl: `postgres://${user}@${name}:${port}/${db}` }
    await sql.begin(async tx => {
      await tx`lock table accounts, key_statements in access exclusive mode`
      const running = run(options).then(
        () => null,
        (error: unknown) => error,
      )
      let isOver = false
      running.finally(() => {
        isOver = true
      })
      while (!isOver) {
        await delay(20)
        await sql`
          select pg_terminate_backend(pid) from pg_locks l join pg_class c on c.oid = l.relation
          where not l.granted and c.relname in ('accounts', 'key_statements')`
      }
      expect(await running).toMatchObject({ name: 'OperatorError', code: 'unavailable' })
    })
  })
})
