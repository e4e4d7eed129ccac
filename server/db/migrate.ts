import { setTimeout as delay } from 'node:timers/promises'
import type { ISql, Sql, TransactionSql } from 'postgres'
import { OperatorError } from '../../src/contract/index.ts'
import { dbErrorCode } from './errors.ts'
import accounts from './migrations/0001_baseline/accounts.sql'
import consents from './migrations/0001_baseline/consents.sql'
import documents from './migrations/0001_baseline/documents.sql'
import functions from './migrations/0001_baseline/functions.sql'
import history from './migrations/0001_baseline/history.sql'
import holds from './migrations/0001_baseline/holds.sql'
import notices from './migrations/0001_baseline/notices.sql'
import reads from './migrations/0001_baseline/reads.sql'
import requests from './migrations/0001_baseline/requests.sql'
import signing from './migrations/0001_baseline/signing.sql'
import statistics from './migrations/0001_baseline/statistics.sql'
import webhooks from './migrations/0001_baseline/webhooks.sql'

export type Migration = readonly [name: string, steps: readonly string[], oldest?: string]

/**
 * A released file is never edited. A step is a transaction; each except the last may run again. `oldest` is the oldest
 * schema whose programs may start after the migration; default: only programs that know it.
 */
const migrations: readonly Migration[] = [
  [
    '0001_baseline',
    [accounts, consents, history, notices, requests, documents, holds, webhooks, reads, statistics, signing, functions],
  ],
]

export const schemaVersion = migrations.at(-1)?.[0] ?? ''

const lock = 7_266_328

/** Blocks other nodes' migrations and starts until the transaction ends. */
export async function lockSchema(tx: ISql): Promise<void> {
  await tx`select pg_advisory_xact_lock(${lock})`
}

interface Applied {
  readonly name: string
  readonly oldest: string | null
}

/** Longest wait for a lock that blocks requests. */
const lockTimeoutMs = 300

/** Longer than `deadlock_timeout`, after which autovacuum yields to a lock. */
const weakLockTimeoutMs = 1500

const lockPauseMs = 2000

interface Waiting {
  readonly onWait?: ((what: string | null) => void) | undefined
  readonly signal?: AbortSignal | undefined
  readonly known?: readonly Migration[]
}

/**
 * Migrates a new database in one transaction, any other step by step beside nodes of the version before.
 * @throws PostgresError with the step undone; the next call continues
 * @throws OperatorError if a newer version has migrated it and does not allow this one
 * @throws the signal's reason
 */
export async function migrate(sql: Sql, waiting: Waiting = {}): Promise<void> {
  const { known = migrations } = waiting
  const missing = await runAlone(sql, waiting, async (tx, applied) => {
    const found = known.filter(([name]) => !applied.has(name))
    if (applied.size > 0 && found.length > 0) return found
    for (const [name, steps, oldest] of found) {
      for (const step of steps) await runStatements(tx, step)
      await record(tx, name, oldest)
    }
    await distribute(tx)
    return []
  })
  for (const migration of missing) await migrateBesideNodes(sql, waiting, migration)
  if (missing.length > 0) await runAlone(sql, waiting, distribute)
}

async function migrateBesideNodes(sql: Sql, waiting: Waiting, migration: Migration): Promise<void> {
  const [name, steps, oldest] = migration
  for (const [index, step] of steps.entries()) {
    await runAlone(sql, waiting, async (tx, applied) => {
      if (applied.has(name)) return
      await stopVacuum(tx, step)
      await runStatements(tx, step)
      if (index === steps.length - 1) await record(tx, name, oldest)
    })
  }
}

/** Runs a transaction while no other node migrates. Repeats it until it gets its locks quickly. */
async function runAlone<T>(
  sql: Sql,
  { onWait, signal, known = migrations }: Waiting,
  work: (tx: TransactionSql, applied: ReadonlySet<string>) => Promise<T>,
): Promise<T> {
  try {
    for (let round = 1; ; round += 1) {
      signal?.throwIfAborted()
      try {
        return await runOnce(sql, known, work)
      } catch (error) {
        if (!isLocked(error)) throw error
        if (round === 1)
          onWait?.('waiting for a lock on the tables, which a backup may hold, or the migration of another node')
        await delay(lockPauseMs, undefined, { signal }).catch(() => {})
      }
    }
  } finally {
    onWait?.(null)
  }
}

async function runOnce<T>(
  sql: Sql,
  known: readonly Migration[],
  work: (tx: TransactionSql, applied: ReadonlySet<string>) => Promise<T>,
): Promise<T> {
  const done = await sql.begin(async tx => {
    await tx`set local statement_timeout = 0`
    await limitLocks(tx, weakLockTimeoutMs)
    await lockSchema(tx)
    await limitLocks(tx, lockTimeoutMs)
    return [await work(tx, await findApplied(tx, known))] as const
  })
  return done[0]
}

async function limitLocks(tx: TransactionSql, ms: number): Promise<void> {
  // biome-ignore lint/plugin: SET takes no parameters.
  await tx.unsafe(`set local lock_timeout = ${ms}`)
}

/** Locks a step's tables only against vacuum. */
async function stopVacuum(tx: TransactionSql, step: string): Promise<void> {
  const words = step.replace(/--.*/g, '').match(/\w+/g) ?? []
  const tables = await tx<{ name: string }[]>`
    select relname as name from pg_class
    where relnamespace = current_schema()::regnamespace and relkind = 'r' and relname in ${tx(words)}
    order by relname`
  if (tables.length === 0) return
  await limitLocks(tx, weakLockTimeoutMs)
  await tx`lock table ${tx(tables.map(({ name }) => name))} in share update exclusive mode`
  await limitLocks(tx, lockTimeoutMs)
}

/** Includes deadlocks with requests. */
function isLocked(error: unknown): boolean {
  return /^(55P03|40P01)$/.test(dbErrorCode(error) ?? '')
}

async function findApplied(tx: TransactionSql, known: readonly Migration[]): Promise<ReadonlySet<string>> {
  const [table] = await tx`select 1 where to_regclass('migrations') is null`
  if (table) await tx`create table migrations (name text primary key, applied_at timestamptz not null, oldest text)`
  const rows = await tx<Applied[]>`select name, oldest from migrations order by name`
  rejectOthers(rows, known)
  return new Set(rows.map(({ name }) => name))
}

async function runStatements(tx: TransactionSql, statements: string): Promise<void> {
  // biome-ignore lint/plugin: a file holds several statements; it is never input.
  await tx.unsafe(statements)
}

async function record(tx: TransactionSql, name: string, oldest: string | null = null): Promise<void> {
  await tx`insert into migrations (name, applied_at, oldest) values (${name}, now(), ${oldest})`
}

function rejectOthers(applied: readonly Applied[], migrations: readonly Migration[]): void {
  const known = migrations.map(([name]) => name)
  const last = known.at(-1) ?? ''
  const newer = applied.find(({ name, oldest }) => !known.includes(name) && (oldest === null || oldest > last))
  if (!newer) return
  throw new OperatorError(`the database has the schema ${newer.name} of a newer version of consentctl`, {
    hint: `use that version or a later one: this one supports ${last}. To go back, restore a backup from before the upgrade`,
  })
}

interface Table {
  readonly name: string
  readonly hasTenant: boolean
}

/** Distributes tenants' tables by account, and copies the others to each node. */
async function distribute(tx: TransactionSql): Promise<void> {
  const citus = await tx`select 1 from pg_extension where extname = 'citus'`
  if (citus.length === 0) return
  const tables = await findLocal(tx)
  for (const { name, hasTenant } of tables) {
    const mate = name === 'accounts' ? 'none' : 'accounts'
    if (hasTenant) await tx`select create_distributed_table(${name}, 'account_id', colocate_with => ${mate})`
    else await tx`select create_reference_table(${name})`
  }
  for (const { name } of tables) await tx`select truncate_local_data_after_distributing_table(${name})`
  await distributeFunctions(tx)
}

/** Makes a function of an account run on its server, and the others on each. */
async function distributeFunctions(tx: TransactionSql): Promise<void> {
  const functions = await tx<{ name: string; account: string | null }[]>`
    select p.oid::regprocedure::text as name, p.proargnames[1] as account
    from pg_proc p left join pg_dist_object o on o.classid = 'pg_proc'::regclass and o.objid = p.oid
    where p.pronamespace = current_schema()::regnamespace and p.prosecdef
      and (o.objid is null or (p.pronargs > 0 and o.distribution_argument_index is null))`
  for (const { name, account } of functions) {
    if (account) await tx`select create_distributed_function(${name}, ${account}, colocate_with => 'accounts')`
    else await tx`select create_distributed_function(${name})`
  }
}

/** Returns undistributed tables, each after those that it references. */
function findLocal(tx: TransactionSql): Promise<Table[]> {
  return tx<Table[]>`
    with recursive placed as (
      select oid, 0 as depth from pg_class
      where relnamespace = current_schema()::regnamespace and relkind = 'r'
      union
      select f.conrelid, depth + 1 from placed join pg_constraint f on f.confrelid = placed.oid and f.contype = 'f'
    )
    select oid::regclass::text as name, exists (
      select 1 from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
      where i.indrelid = placed.oid and i.indisprimary and a.attname = 'account_id'
    ) as "hasTenant"
    from placed where not exists (select 1 from pg_dist_partition where logicalrelid = placed.oid)
    group by oid order by oid <> 'accounts'::regclass, max(depth), name`
}
