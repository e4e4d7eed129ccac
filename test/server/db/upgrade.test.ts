import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { beforeEach, describe, expect, it } from 'vitest'
import { migrate, schemaVersion } from '../../../server/db/migrate.ts'
import { useDatabase } from '../../support/database.ts'

const folder = new URL('../../../server/db/migrations/', import.meta.url)

/** Before 0011, the first that alters a table of a database in use. */
const old = readdirSync(folder)
  .sort()
  .filter(file => file < '0011')

const hasSessions = process.env['TEST_ENGINE'] === 'postgres'

describe.skipIf(!hasSessions)('migrate › beside nodes of the version before', () => {
  const database = useDatabase()
  beforeEach(async () => {
    const { sql } = database
    await sql`drop schema public cascade`
    await sql`create schema public`
    for (const file of old) await sql.unsafe(readFileSync(new URL(file, folder), 'utf8'))
    await sql`create table migrations (name text primary key, applied_at timestamptz not null, oldest text)`
    for (const file of old) await sql`insert into migrations values (${file.slice(0, -4)}, now())`
  })

  it('keeps no request waiting for the end of a long read, such as a backup', { timeout: 30_000 }, async () => {
    const { sql } = database
    const waits: string[] = []
    let migrating: Promise<void> | undefined
    let slowestMs = 0
    await sql.begin(async reader => {
      await reader`select from consents, consent_history, log_entries`
      migrating = migrate(sql, what => what !== null && waits.push(what))
      migrating.catch(() => {})
      const until = performance.now() + 1500
      while (performance.now() < until) {
        const start = performance.now()
        await Promise.all([sql`select from consents`, sql`update log_entries set hash = hash`])
        slowestMs = Math.max(slowestMs, performance.now() - start)
        await delay(20)
      }
    })
    expect(slowestMs).toBeLessThan(1200)
    expect(waits).not.toEqual([])
    await migrating
    expect((await sql`select max(name) from migrations`)[0]?.['max']).toBe(schemaVersion)
  })

  it('keeps what was migrated before a failure, and goes on from there', async () => {
    const { sql } = database
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
