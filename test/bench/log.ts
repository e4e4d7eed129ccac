import type { Sql } from 'postgres'
import { wholeAccount } from '../../server/db/reach.ts'
import { coverAccount } from '../../server/evidence/log.ts'
import { getConsistency, getInclusion } from '../../server/evidence/proofs.ts'
import { openSigner } from '../../server/evidence/signer.ts'
import { countLeaves } from '../../server/stats/queries.ts'
import type { Bench } from './bench.ts'
import { alternate, type Row } from './numbers.ts'
import { cpuOf } from './processes.ts'

const entriesPerStatement = 1000
const statements = 5

/**
 * CPU time of a proof in the log of all records, and of one of its last entries for the statistics: of this process and
 * of PostgreSQL, against an empty statement.
 */
export async function* log({ stage: open, pairs, isQuick }: Bench): AsyncGenerator<Row> {
  const { sql, account } = await open()
  const accountId = account.account_id
  const size = await fillLog(sql, accountId)
  const random = () => Math.floor(Math.random() * size)
  const times = isQuick ? 200 : 1000
  const each = (work: () => Promise<unknown>, count = times) => cpuOfEach(sql, count, () => repeat(count, work))
  const bare = () => each(() => sql`select 1`, 5 * times) // much longer than the 10 ms in which the system counts
  const reach = wholeAccount(accountId)
  const proofs = {
    'inclusion proof': () => getInclusion({ sql }, reach, { leaf_index: random() }),
    'consistency proof': () => getConsistency({ sql }, accountId, { first: 1 + random() }),
  }
  for (const [name, prove] of Object.entries(proofs)) {
    await repeat(10, prove)
    yield { group: 'log', name, unit: 'µs', ...(await alternate(pairs, () => each(prove), bare)), bound: { most: 25 } }
  }
  const count = () => cpuOfEach(sql, entriesPerStatement * statements, () => countLast(sql, accountId, size))
  await count()
  yield {
    group: 'log',
    name: 'entry counted',
    unit: 'µs',
    ...(await alternate(pairs, count, bare)),
    bound: { most: 0.6 },
  }
}

/** Logs the seeded records, and returns the size of the newest checkpoint. */
async function fillLog(sql: Sql, accountId: string): Promise<number> {
  await sql`set jit = off` // as on the connections of the service
  await sql`
    insert into log_entries (account_id, consent_id, version, hash)
    select account_id, consent_id, version, hash from consent_history where account_id = ${accountId}
    on conflict do nothing`
  const signer = await openSigner(sql, null)
  for await (const _ of coverAccount({ sql, signer }, accountId));
  await sql`vacuum (analyze) log_entries, checkpoints`
  const [row] = await sql<{ size: number }[]>`
    select max(tree_size)::float8 as size from checkpoints where account_id = ${accountId}`
  return row?.size ?? 0
}

/** In a transaction that is rolled back. It locks the progress, so that the job of the server waits. */
async function countLast(sql: Sql, accountId: string, size: number): Promise<void> {
  const done = new Error()
  const work = sql.begin(async tx => {
    const start = size - entriesPerStatement * statements
    await tx`
      insert into statistics_progress (account_id, leaves, revision) values (${accountId}, ${start}, 0)
      on conflict (account_id) do update set leaves = ${start}, revision = 0`
    for (let revision = 0; revision < statements; revision += 1) {
      const leaves = start + revision * entriesPerStatement
      const isCounted = await countLeaves(
        tx as unknown as Sql,
        accountId,
        { leaves, revision },
        leaves + entriesPerStatement,
      )
      if (!isCounted) throw new Error('the entries were not counted')
    }
    throw done
  })
  await work.catch(error => {
    if (error !== done) throw error
  })
}

/** Microseconds of this process and of the connection's backend. */
async function cpuOfEach(sql: Sql, times: number, work: () => Promise<unknown>): Promise<number> {
  const [backend] = await sql<{ pid: number }[]>`select pg_backend_pid() as pid`
  const [before, start] = [process.cpuUsage(), cpuOf(backend?.pid)]
  await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system + (cpuOf(backend?.pid) - start) * 1000) / times
}

async function repeat(times: number, work: () => Promise<unknown>): Promise<void> {
  for (let time = 0; time < times; time += 1) await work()
}
