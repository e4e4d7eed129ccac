import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { migrate, schemaVersion } from '../../../server/db/migrate.ts'
import { useDatabase } from '../../support/database.ts'
import { emptyDatabase, readSchema } from './schema-lines.ts'

const folder = new URL('../../../server/db/migrations/', import.meta.url)
const files = readdirSync(folder).sort()

/** The first that alters a table of a database in use. */
const firstAlteration = '0011'

const hasSessions = process.env['TEST_ENGINE'] === 'postgres'

describe.skipIf(!hasSessions)('migrate › beside nodes of the version before', () => {
  const database = useDatabase()

  /** Makes the schema of before a migration, and returns the lines of the newest. */
  async function startBefore(migration: string): Promise<string[]> {
    const { sql } = database
    await emptyDatabase(sql)
    await migrate(sql)
    const newest = await readSchema(sql)
    await emptyDatabase(sql)
    const old = files.filter(file => file < migration)
    for (const file of old) await sql.unsafe(readFileSync(new URL(file, folder), 'utf8'))
    await sql`create table migrations (name text primary key, applied_at timestamptz not null, oldest text)`
    for (const file of old) await sql`insert into migrations values (${file.slice(0, -4)}, now())`
    return newest
  }

  /** Migrates while a session holds locks for a time. Returns the slowest of other requests meanwhile, and the waits told. */
  async function migrateBeside(lock: string, ms: number) {
    const { sql } = database
    const waits: (string | null)[] = []
    let migrating: Promise<void> | undefined
    let slowestMs = 0
    await sql.begin(async session => {
      await session.unsafe(lock)
      migrating = migrate(sql, { onWait: what => waits.push(what) })
      migrating.catch(() => {})
      const until = performance.now() + ms
      while (performance.now() < until) {
        const start = performance.now()
        await Promise.all([sql`select from consents`, sql`update log_entries set hash = hash`])
        slowestMs = Math.max(slowestMs, performance.now() - start)
        await delay(20)
      }
    })
    await migrating
    return { slowestMs, told: waits.filter(what => what !== null), last: waits.at(-1) }
  }

  it.each([
    ['a long read, such as a backup', firstAlteration, 'select from consents, consent_history, log_entries'],
    ['a read of the last table of a step', '0019', 'select from statistics'],
  ])('keeps no request waiting for the end of %s, and says once that it waits', async (_name, migration, read) => {
    const newest = await startBefore(migration)
    const { slowestMs, told, last } = await migrateBeside(read, 2800)
    expect(slowestMs).toBeLessThan(1200)
    expect(told).toHaveLength(1)
    expect(last).toBeNull()
    expect(await readSchema(database.sql)).toEqual(newest)
  })

  it('waits for a vacuum, which stops no request, until autovacuum would give way', async () => {
    const newest = await startBefore('0019')
    const vacuum = 'lock table consents in share update exclusive mode'
    const { slowestMs, told } = await migrateBeside(vacuum, 900)
    expect(slowestMs).toBeLessThan(700)
    expect(told).toEqual([])
    expect(await readSchema(database.sql)).toEqual(newest)
  })

  it('ends with the schema of a new database after four nodes migrate it at once and are killed five times', async () => {
    const { sql } = database
    const newest = await startBefore(firstAlteration)
    let kills = 0
    let isDone = false
    const start = async (): Promise<void> => {
      await migrate(sql).catch(async (error: { code?: string }) => {
        if (!/^(57P01|CONNECTION_CLOSED|ECONNRESET)$/.test(error.code ?? '')) throw error
        await start()
      })
    }
    const kill = async () => {
      while (!isDone && kills < 5) {
        await delay(40)
        const killed = await sql`
          select pg_terminate_backend(pid) from pg_locks
          where locktype = 'advisory' and granted and database = (select oid from pg_database where datname = current_database())`
        kills += killed.length
      }
    }
    const killing = kill()
    await Promise.all([start(), start(), start(), start()]).finally(() => {
      isDone = true
    })
    await killing
    expect(kills).toBe(5)
    expect(await readSchema(sql)).toEqual(newest)
  })

  it('keeps what was migrated before a failure, and goes on from there', async () => {
    const { sql } = database
    await startBefore(firstAlteration)
    const applied = async () => (await sql`select name from migrations order by name desc limit 1`)[0]?.['name']
    await sql`create table notice_texts ()` // in the way of 0016
    await expect(migrate(sql)).rejects.toMatchObject({ code: '42P07' })
    expect(await applied()).toBe('0015_administration')
    expect(await sql`select from pg_tables where tablename = 'notices'`).toEqual([])
    await sql`drop table notice_texts`
    await migrate(sql)
    expect(await applied()).toBe(schemaVersion)
    await sql`delete from migrations where name = '0020_indexes'` // an unreleased version made them with their columns
    await sql`drop index consents_imported`
    await migrate(sql)
    expect(await sql`select from pg_indexes where indexname = 'consents_imported'`).toHaveLength(1)
  })
})
