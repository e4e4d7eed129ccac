import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import postgres from 'postgres'
import type { TestProject } from 'vitest/node'
import { connect } from '../../server/db/connect.ts'
import { migrate } from '../../server/db/migrate.ts'
import { SharedPGlite, serveOnSocket } from '../../server/db/pglite.ts'
import { startCluster, whereIsPostgres } from './cluster.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** A migrated data folder of the embedded database, as a tar file. */
    embeddedTemplate: string
    /** The URL of a PostgreSQL server that has a migrated database named as `templateName`; null without a server. */
    clusterUrl: string | null
  }
}

export const templateName = 'consentctl_test_template'

/** Makes once what every test file copies: a migrated database on each engine. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = mkdtempSync('/tmp/consentctl-test-')
  project.provide('embeddedTemplate', await makeEmbeddedTemplate(folder))
  const cluster = whereIsPostgres() ? await startCluster() : null
  if (cluster) await makeTemplate(cluster.url)
  project.provide('clusterUrl', cluster?.url ?? null)
  return async () => {
    if (cluster) await dropTemplate(cluster.url)
    await cluster?.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

async function makeEmbeddedTemplate(folder: string): Promise<string> {
  const db = new SharedPGlite()
  await db.waitReady
  const embedded = await serveOnSocket(db, folder)
  const sql = connect({ target: { folder }, max: 1 })
  await migrate(sql)
  await sql.end()
  const file = join(folder, 'template.tar')
  writeFileSync(file, Buffer.from(await (await db.dumpDataDir('none')).arrayBuffer()))
  await embedded.close()
  return file
}

async function makeTemplate(url: string): Promise<void> {
  await dropTemplate(url)
  const admin = postgres(`${url}/postgres`, { max: 1 })
  await admin`create database ${admin(templateName)}`
  await admin.end()
  const sql = connect({ target: { url: `${url}/${templateName}` }, max: 1 })
  await migrate(sql)
  await sql.end()
}

async function dropTemplate(url: string): Promise<void> {
  const admin = postgres(`${url}/postgres`, { max: 1, onnotice: () => {} })
  await admin`drop database if exists ${admin(templateName)}`
  await admin.end()
}
