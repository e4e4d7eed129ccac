import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres, { type Sql } from 'postgres'
import type { NewAccount } from '../../src/contract/server.ts'
import { startPostgres } from '../support/postgres.ts'
import { type Env, runProgram, type Served, serveProgram } from './processes.ts'
import { type Seeded, seed } from './seed.ts'

/** The package's executable, as a user runs it. */
export const binary = 'bin/consentctl.cjs'

/** A filled database, our server and the ceiling on it. */
export interface Stage {
  readonly databaseUrl: string
  /** Of PostgreSQL. */
  readonly version: string
  readonly sql: Sql
  readonly account: NewAccount
  readonly records: number
  readonly seeded: Seeded
  readonly ours: Served
  readonly ceiling: Served
  /** Removed at the end. */
  readonly folder: string
  readonly env: Env
  /** The headers of a request to our server. */
  readonly headers: Record<string, string>
}

/** Where the bundles of this folder are, and how many records there are to be. */
interface StageOptions {
  readonly bundles: string
  readonly records: number
  /** Told what is being done. */
  readonly tell: (text: string) => void
  /** Takes what undoes a step, to be called in the reverse order. */
  readonly undo: (step: () => Promise<unknown> | unknown) => void
}

/** Sets all of it up, in a database of its own: of a private PostgreSQL, or of the one that `DATABASE_URL` names. */
export async function openStage({ bundles, records, tell, undo }: StageOptions): Promise<Stage> {
  const folder = mkdtempSync(join(tmpdir(), 'consentctl-bench-'))
  undo(() => rmSync(folder, { recursive: true, force: true }))
  tell('starting PostgreSQL')
  const { url: databaseUrl, remove } = await openDatabase()
  undo(remove)
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => {} })
  undo(() => sql.end({ timeout: 1 }))
  const env = { PATH: process.env['PATH'], HOME: folder, DATABASE_URL: databaseUrl }
  const making = ['admin', 'account', 'create', '--email', 'owner@example.com', '--json']
  const made = await runProgram([process.execPath, binary, ...making], { env })
  const account = JSON.parse(made.stdout) as NewAccount
  tell(`writing ${records} records`)
  const seeded = await seed(sql, { accountId: account.account_id, siteId: account.site.id, records })
  const [row] = await sql<{ version: string }[]>`select current_setting('server_version') as version`
  const ours = await serveProgram([binary, 'serve'], env)
  undo(ours.stop)
  const ceiling = await serveProgram([join(bundles, 'ceiling.js'), databaseUrl, account.account_id], env)
  undo(ceiling.stop)
  const headers = { authorization: `Bearer ${account.api_key}`, 'content-type': 'application/json' }
  const version = row?.version ?? ''
  return { databaseUrl, version, sql, account, records, seeded, ours, ceiling, folder, env, headers }
}

/** An empty database. */
export async function openDatabase(): Promise<{ url: string; remove: () => Promise<void> }> {
  const named = process.env['DATABASE_URL']
  const settings = ['shared_buffers=512MB', 'max_wal_size=8GB', 'checkpoint_timeout=1h']
  const server = named ? null : await startPostgres({ durable: false, settings })
  const base = named ?? `${server?.url}/postgres`
  const name = `consentctl_bench_${process.pid}`
  const admin = postgres(base, { max: 1, onnotice: () => {} })
  await admin`create database ${admin(name)}`
  const url = new URL(base)
  url.pathname = name
  const remove = async () => {
    if (!server) await admin`drop database ${admin(name)} with (force)`
    await admin.end()
    await server?.remove()
  }
  return { url: url.href, remove }
}
