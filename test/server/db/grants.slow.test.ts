import { randomBytes } from 'node:crypto'
import type { Sql } from 'postgres'
import { afterAll, beforeAll, expect, inject, it } from 'vitest'
import { signSession } from '../../../server/auth/session.ts'
import { connect } from '../../../server/db/connect.ts'
import { grantsFor, historyTables, mayChangeHistory } from '../../../server/db/grants.ts'
import { migrate } from '../../../server/db/migrate.ts'
import { coverAll } from '../../../server/evidence/log.ts'
import { openSigner } from '../../../server/evidence/signer.ts'
import { createDatabase, dropDatabase } from '../../support/databases.ts'
import { newAccount, sessionSecret, startNode, type TestService } from '../../support/service.ts'
import { newImporter } from '../consents/imports.ts'
import { purgeNow } from '../purge/purge.ts'
import { verified } from '../verify/verified.ts'

const isEmbedded = process.env['TEST_ENGINE'] === 'embedded' // it has one role
const suffix = randomBytes(6).toString('hex')
const [ownerRole, serviceRole] = [`owner_${suffix}`, `service_${suffix}`]
const name = `consentctl_grants_${suffix}`
let admin: Sql
let owner: Sql
let sql: Sql
const opened: Sql[] = []

beforeAll(async () => {
  if (isEmbedded) return
  const server = inject('clusterUrl') ?? ''
  const url = new URL(await createDatabase(server, name))
  const open = (role?: string) => {
    const own = new URL(url)
    if (role) Object.assign(own, { username: role, password: suffix })
    const pool = connect({ target: { url: own.href }, max: 4 })
    opened.push(pool)
    return pool
  }
  admin = open()
  const nodes = await admin<{ hasCitus: boolean }[]>`select 1 from pg_extension where extname = 'citus'`
  for (const role of [ownerRole, serviceRole]) await admin.unsafe(`create role ${role} login password '${suffix}'`)
  const allow = `grant create, usage on schema public to ${ownerRole}`
  await (nodes.length > 0 ? admin`select run_command_on_all_nodes(${allow})` : admin.unsafe(allow))
  owner = open(ownerRole)
  await migrate(owner)
  await owner.unsafe(grantsFor(serviceRole))
  await owner.unsafe(grantsFor(serviceRole))
  sql = open(serviceRole)
})

afterAll(async () => {
  if (isEmbedded) return
  for (const pool of opened) await pool.end({ timeout: 5 })
  await dropDatabase(inject('clusterUrl') ?? '', name)
  const last = connect({ target: { url: `${inject('clusterUrl')}/postgres` }, max: 1 })
  await last.unsafe(`drop role if exists ${ownerRole}, ${serviceRole}`)
  await last.end({ timeout: 5 })
})

/** All rows of history and log, by table. */
async function readHistory(): Promise<Record<string, readonly string[]>> {
  const rows: Record<string, readonly string[]> = {}
  for (const table of historyTables) {
    const found = await owner<{ row: string }[]>`select row_to_json(t)::text as row from ${owner(table)} t`
    rows[table] = found.map(({ row }) => row).sort()
  }
  return rows
}

async function startService(): Promise<TestService> {
  const node = await startNode(sql)
  return Object.assign(node, {
    sql,
    newAccount: () => newAccount(sql),
    signIn: async ({ accountId, userId }: { accountId: string; userId: string }) => {
      const { token } = await signSession(sessionSecret, { accountId, userId, version: 1 })
      return { cookie: `consent_session=${token}`, origin: node.url }
    },
    addNode: () => startNode(sql),
  })
}

it.skipIf(isEmbedded)(
  'service role › when it migrates, finds a migrated database ready, and cannot make tables for a newer version',
  async () => {
    expect([await mayChangeHistory(sql), await mayChangeHistory(owner), await mayChangeHistory(admin)]).toEqual([
      false,
      true,
      true,
    ])
    await migrate(sql)
    const newer = [['0001_baseline', []] as const, ['0002_next', ['create table next (id uuid primary key)']] as const]
    await expect(migrate(sql, { known: newer })).rejects.toMatchObject({ code: '42501' })
    for (const right of ['update (hash) on consent_history', 'trigger on log_entries', 'delete on checkpoints']) {
      await owner.unsafe(`grant ${right} to ${serviceRole}`)
      expect(await mayChangeHistory(sql), right).toBe(true)
      await owner.unsafe(grantsFor(serviceRole))
      expect(await mayChangeHistory(sql), right).toBe(false)
    }
  },
)

it.skipIf(isEmbedded)(
  'service role › runs the service whole, and no other statement of it changes history or log',
  async () => {
    const service = await startService()
    try {
      const own = await newImporter(service)
      const post = (path: string, body: object) => service.call('POST', `/api/v1/${path}`, { key: own.key, body })
      const subject_id = 'maria@example.com'
      const [gone, erased, live] = [
        await own.create({ subject_id }),
        await own.create({ subject_id }),
        await own.create(),
      ]
      await own.importOne({ subject_id: 'imported' })
      expect((await own.update(live.id, { preferences: { ads: true } })).status).toBe(200)
      await own.remove(gone.id)
      expect((await post(`consents/${gone.id}/restore`, {})).status).toBe(200)
      expect((await post('subjects/erase', { subject_id })).body).toMatchObject({ erased: 2 })
      const cover = async () => await coverAll({ sql, signer: await openSigner(sql, null) })
      await cover()
      expect((await post('subjects/purge', { ids: [erased.id] })).body).toMatchObject({ complete: true })
      expect(await purgeNow(sql)).toEqual(new Map([[own.accountId, 1]]))
      await own.remove(live.id) // deleted, not purged
      await cover()
      expect((await verified(owner)).findings).toEqual([])

      const before = await readHistory()
      for (const table of ['consent_history', 'log_entries', 'account_entries', 'checkpoints', 'key_statements'])
        expect(before[table], table).not.toEqual([])
      const done: string[] = []
      const statements = [...(await attacks()), ...attacksByFunctions(own.accountId, live.id, gone.id)]
      expect(statements.length).toBeGreaterThan(200)
      for (const statement of statements) {
        await sql.unsafe(statement).then(
          () => done.push(statement),
          () => {},
        )
      }
      expect(await readHistory()).toEqual(before)
      expect(await mayChangeHistory(sql)).toBe(false)
      expect(done.filter(statement => !harmless.has(statement))).toEqual([])
    } finally {
      await service.app.close()
    }
  },
)

/** Statements against each table of history and log, and each of its columns. */
async function attacks(): Promise<string[]> {
  const tables = [...historyTables]
  const columns = await owner<{ table: string; name: string }[]>`
    select relname as table, attname as name from pg_attribute join pg_class c on c.oid = attrelid
    where c.relnamespace = current_schema()::regnamespace and relname in ${owner(tables)} and attnum > 0
      and not attisdropped and attname <> 'is_counted'`
  const ofColumns = columns.flatMap(({ table, name }) => [
    `update ${table} set ${name} = ${name}`,
    `insert into ${table} select * from ${table} on conflict on constraint ${table}_pkey do update set ${name} = excluded.${name}`,
  ])
  const ofTables = tables.flatMap(table => [
    `delete from ${table}`,
    `with gone as (delete from ${table} returning *) select count(*) from gone`,
    `delete from ${table} using accounts a where a.account_id is not null`,
    `truncate ${table}`,
    `truncate ${table} cascade`,
    `merge into ${table} t using ${table} s on true when matched then delete`,
    `copy (delete from ${table} returning *) to stdout`,
    `copy ${table} from program 'true'`,
    `copy ${table} from '/dev/null'`,
    `select * from ${table} for update`,
    `lock table ${table} in access exclusive mode`,
    `alter table ${table} disable trigger all`,
    `alter table ${table} add column forged text`,
    `alter table ${table} rename to forged`,
    `alter table ${table} owner to ${serviceRole}`,
    `alter table ${table} set schema pg_temp`,
    `drop table ${table} cascade`,
    `create rule forged as on insert to ${table} do instead nothing`,
    `create trigger forged before insert on ${table} execute function suppress_redundant_updates_trigger()`,
    `create policy forged on ${table}`,
    `grant all on ${table} to ${serviceRole}`, // with a warning that nothing was granted
    `create index forged on ${table} ((1))`,
    `reindex table ${table}`,
    `do $$ begin delete from ${table}; end $$`,
    `do $$ begin execute 'update ${table} set account_id = account_id'; end $$`,
  ])
  return [
    ...ofColumns,
    ...ofTables,
    `set session_replication_role = replica; delete from consent_history`,
    `set role ${ownerRole}`,
    'set session authorization postgres',
    `grant ${ownerRole} to ${serviceRole}`,
    `alter role ${serviceRole} superuser`,
    `alter role ${ownerRole} password 'known'`,
    'create function forge() returns void language sql as $$ delete from consent_history $$',
    'create or replace function analyze_purged() returns void language sql as $$ select $$',
    `alter function analyze_purged() owner to ${serviceRole}`,
    'alter function analyze_purged() reset search_path',
    'drop function analyze_purged() cascade',
    'create function pg_temp.forge() returns void language sql security definer as $$ delete from log_entries $$; select pg_temp.forge()',
    'create schema forged',
    'create table forged (id int)',
    'create extension dblink',
    'delete from consents',
    'delete from accounts',
    'drop schema public cascade',
    'delete from migrations',
    `alter database ${name} set session_replication_role = replica`,
  ]
}

/** Statements that may run, because they change no entry. */
const harmless = new Set<string>([
  'select * from log_entries for update',
  ...historyTables.map(table => `grant all on ${table} to ${serviceRole}`),
])

/** Tries to strip a deleted and a purged record, and to move leaves. */
function attacksByFunctions(accountId: string, deletedId: string, purgedId: string): string[] {
  const strip = (ids: string) => `select strip_history('${accountId}', '{${ids}}', 1000)`
  const place = (after: string) => `select place_leaves('${accountId}', ${after}, 2000)`
  const shadow = 'create temp table consent_history as select * from public.consent_history'
  const forged = `update consent_history set action = 'purged'; ${strip(deletedId)}`
  const running = [
    strip(deletedId),
    strip(purgedId),
    strip(`${deletedId},${purgedId}`),
    place('null, null'), // all have their leaves
    place(`'${deletedId}', 1`),
    `${shadow}; set local search_path = pg_temp, public; ${forged}`, // a table of the caller's own is not the real one
  ]
  for (const statement of running) harmless.add(statement)
  return running
}
