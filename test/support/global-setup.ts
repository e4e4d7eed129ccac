import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ProvidedContext } from 'vitest'
import type { TestProject } from 'vitest/node'
import { connect } from '../../server/db/connect.ts'
import { migrate } from '../../server/db/migrate.ts'
import { SharedPGlite, serveOnSocket } from '../../server/db/pglite.ts'
import { startCitus } from './citus.ts'
import { createDatabase, dropDatabase, templateName } from './databases.ts'
import { findPrograms, startPostgres } from './postgres.ts'
import { useRunFolder } from './run-folder.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** A migrated data folder of the embedded database, as a tar file; empty unless a project of the run uses that engine. */
    embeddedTemplate: string
    /** The URL of a PostgreSQL server that has a migrated database named as `templateName`; null without a server. */
    clusterUrl: string | null
  }
}

interface Template {
  readonly provided: Partial<ProvidedContext>
  remove(): Promise<void>
}

/** Each project of a run calls its own copy of this module; the first that needs a template makes it for all. */
const run = globalThis as {
  consentctlTests?: { templates: Map<string, Promise<Template>>; users: number } | undefined
}

/** Makes the databases that test files copy: on PostgreSQL for every project, on the embedded engine for those that use it. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  if (!run.consentctlTests) useRunFolder()
  run.consentctlTests ??= { templates: new Map(), users: 0 }
  const shared = run.consentctlTests
  shared.users += 1
  const engine = project.config.env?.['TEST_ENGINE']
  const makers = engine === 'citus' ? [makeOnCitus] : [makeOnServer, ...(engine === 'embedded' ? [makeEmbedded] : [])]
  const provided: ProvidedContext = { embeddedTemplate: '', clusterUrl: null }
  for (const make of makers) {
    const template = shared.templates.get(make.name) ?? make()
    shared.templates.set(make.name, template)
    Object.assign(provided, (await template).provided)
  }
  for (const name of Object.keys(provided) as (keyof ProvidedContext)[]) project.provide(name, provided[name])
  return async () => {
    shared.users -= 1
    if (shared.users > 0) return
    run.consentctlTests = undefined
    for (const template of shared.templates.values()) await (await template).remove()
  }
}

async function makeOnServer(): Promise<Template> {
  const named = process.env['TEST_DATABASE_URL']
  if (!named && !findPrograms()) return { provided: {}, remove: async () => {} }
  const server = named ? null : await startPostgres({ durable: false })
  const url = server?.url ?? (named ?? '').replace(/\/[^/]*$/, '')
  await makeTemplate(url)
  const remove = async () => {
    await dropDatabase(url, templateName)
    await server?.remove()
  }
  return { provided: { clusterUrl: url }, remove }
}

async function makeOnCitus(): Promise<Template> {
  const { coordinator, remove } = await startCitus()
  await makeTemplate(coordinator.url)
  return { provided: { clusterUrl: coordinator.url }, remove }
}

async function makeEmbedded(): Promise<Template> {
  const folder = mkdtempSync(join(tmpdir(), 'consentctl-test-'))
  return {
    provided: { embeddedTemplate: await makeEmbeddedTemplate(folder) },
    remove: async () => rmSync(folder, { recursive: true, force: true }),
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
