import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { connect } from '../../server/db/connect.ts'
import { migrate } from '../../server/db/migrate.ts'
import { SharedPGlite, serveOnSocket } from '../../server/db/pglite.ts'
import { startCluster, whereIsPostgres } from './cluster.ts'
import { createDatabase, dropDatabase, isCitus } from './databases.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** A migrated data folder of the embedded database, as a tar file. */
    embeddedTemplate: string
    /** The URL of a PostgreSQL server that has a migrated database named as `templateName`; null without a server. */
    clusterUrl: string | null
    /** Whether that server is the coordinator of a Citus cluster. */
    isCitus: boolean
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
  project.provide('isCitus', cluster !== null && (await isCitus(cluster.url)))
  return async () => {
    if (cluster) await dropDatabase(cluster.url, templateName)
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

async function makeTemplate(server: string): Promise<void> {
  await dropDatabase(server, templateName)
  const sql = connect({ target: { url: await createDatabase(server, templateName) }, max: 1 })
  await migrate(sql)
  await sql.end()
}
