import { mkdtempSync, openAsBlob, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Sql } from 'postgres'
import { afterAll, beforeAll, inject } from 'vitest'
import { connect } from '../../server/db/connect.ts'
import { SharedPGlite, serveOnSocket } from '../../server/db/pglite.ts'
import { createDatabase, dropDatabase, templateName } from './databases.ts'

/** A migrated database of this test file's own; closed and removed with it. */
export interface TestDatabase {
  sql: Sql
}

/** Gives a test file its database, on the engine that its project names. */
export function useDatabase(): TestDatabase {
  const database = {} as TestDatabase
  let close: () => Promise<void>
  beforeAll(async () => {
    const opened = await (process.env['TEST_ENGINE'] === 'embedded' ? openEmbedded() : openOnCluster())
    database.sql = opened.sql
    close = opened.close
  })
  afterAll(() => close())
  return database
}

/** Returns true if the database of the test file is on a Citus cluster. */
export function onCitus(): boolean {
  return process.env['TEST_ENGINE'] === 'citus'
}

/** Returns true on Citus, where a test cannot run, and prints that it is skipped. */
export function skippedOnCitus(reason: string): boolean {
  if (onCitus()) process.stderr.write(`\n*** SKIPPED on Citus: ${reason}. ***\n\n`)
  return onCitus()
}

async function openEmbedded() {
  const folder = mkdtempSync(join(tmpdir(), 'consentctl-db-'))
  const db = new SharedPGlite({ loadDataDir: await openAsBlob(inject('embeddedTemplate')) })
  await db.waitReady
  const embedded = await serveOnSocket(db, folder)
  const sql = connect({ target: { folder }, max: 1 })
  const close = async () => {
    await sql.end({ timeout: 5 })
    await embedded.close()
    rmSync(folder, { recursive: true, force: true })
  }
  return { sql, close }
}

async function openOnCluster() {
  const server = inject('clusterUrl') ?? ''
  const name = `consentctl_test_${process.pid}_${Date.now().toString(36)}`
  const url = await createDatabase(server, name, templateName)
  const sql = connect({ target: { url }, max: 10 })
  const close = async () => {
    await sql.end({ timeout: 5 })
    await dropDatabase(server, name)
  }
  return { sql, close }
}
