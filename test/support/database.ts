import { mkdtempSync, openAsBlob, rmSync } from 'node:fs'
import postgres, { type Sql } from 'postgres'
import { afterAll, beforeAll, inject } from 'vitest'
import { connect } from '../../server/db/connect.ts'
import { SharedPGlite, serveOnSocket } from '../../server/db/pglite.ts'
import { templateName } from './global-setup.ts'

/** A migrated database of this test file's own; closed and removed with it. */
export interface TestDatabase {
  sql: Sql
}

/** Gives a test file its database, on the engine that its project names. */
export function useDatabase(): TestDatabase {
  const database = {} as TestDatabase
  let close: () => Promise<void>
  beforeAll(async () => {
    const opened = await (process.env['TEST_ENGINE'] === 'postgres' ? openOnCluster() : openEmbedded())
    database.sql = opened.sql
    close = opened.close
  })
  afterAll(() => close())
  return database
}

async function openEmbedded() {
  const folder = mkdtempSync('/tmp/consentctl-db-')
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
  const url = inject('clusterUrl')
  const name = `consentctl_test_${process.pid}_${Date.now().toString(36)}`
  const admin = postgres(`${url}/postgres`, { max: 1, onnotice: () => {} })
  await admin`create database ${admin(name)} template ${admin(templateName)}`
  const sql = connect({ target: { url: `${url}/${name}` }, max: 10 })
  const close = async () => {
    await sql.end({ timeout: 5 })
    await admin`drop database ${admin(name)} with (force)`
    await admin.end()
  }
  return { sql, close }
}
