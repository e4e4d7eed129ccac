import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ProvidedContext } from 'vitest'
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

/** What every test file copies: a migrated database on each engine. */
interface Made extends ProvidedContext {
  remove(): Promise<void>
}

/** Each project of a run sets up by a copy of this module, and the first one makes it for all. */
const run = globalThis as { consentctlTests?: { made: Promise<Made>; users: number } | undefined }

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  run.consentctlTests ??= { made: make(), users: 0 }
  const shared = run.consentctlTests
  shared.users += 1
  const { remove, ...made } = await shared.made
  for (const name of Object.keys(made) as (keyof typeof made)[]) project.provide(name, made[name])
  return async () => {
    shared.users -= 1
    if (shared.users > 0) return
    run.consentctlTests = undefined
    await remove()
  }
}

async function make(): Promise<Made> {
  const folder = mkdtempSync('/tmp/consentctl-test-')
  const embeddedTemplate = await makeEmbeddedTemplate(folder)
  const cluster = whereIsPostgres() ? await startCluster() : null
  if (cluster) await makeTemplate(cluster.url)
  return {
    embeddedTemplate,
    clusterUrl: cluster?.url ?? null,
    isCitus: cluster !== null && (await isCitus(cluster.url)),
    remove: async () => {
      if (cluster) await dropDatabase(cluster.url, templateName)
      await cluster?.stop()
      rmSync(folder, { recursive: true, force: true })
    },
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
