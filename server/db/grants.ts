import type { ISql } from 'postgres'

/** Never changed after their insert, except by the functions. */
export const historyTables = [
  'account_entries',
  'consent_history',
  'log_entries',
  'checkpoints',
  'timestamp_tokens',
  'key_statements',
  'operator_documents',
] as const

/** The column of the log that no hash covers. */
const statisticsColumn = 'is_counted'

const inserted = 'select, insert'
const updated = 'select, insert, update'
const deleted = 'select, insert, update, delete'

/** What the role of the service may do with each table. */
const grants: Readonly<Record<string, string>> = {
  accounts: updated,
  account_entries: inserted,
  users: deleted,
  logins: deleted,
  sites: updated,
  site_tokens: deleted,
  api_keys: updated,
  usage: updated,
  secrets: updated, // by which Citus allows "on conflict do nothing"
  consents: updated,
  idempotency_keys: deleted,
  origins: updated,
  consent_history: inserted,
  log_entries: `${inserted}, update (${statisticsColumn})`,
  checkpoints: inserted,
  timestamp_tokens: inserted,
  notices: deleted,
  notice_texts: deleted,
  subject_requests: updated,
  subject_reads: deleted,
  operator_documents: inserted,
  holds: deleted,
  webhooks: deleted,
  key_statements: inserted,
  verifications: updated,
  statistics: updated,
  statistics_progress: updated,
  migrations: 'select',
}

const functions = [
  'strip_history(uuid, uuid[], integer)',
  'place_leaves(uuid, uuid, integer, integer)',
  'analyze_purged()',
]

/** SQL that lets a role run the service. */
export function grantsFor(role: string): string {
  const name = `"${role.replaceAll('"', '""')}"`
  const lines = [
    '-- The rights of the service’s role. Run this as the role that owns the tables, after its migration made them, and after',
    '-- each upgrade. It can be run again. On Citus run it on the coordinator, which passes it on to the other servers.',
    `-- The role itself is made once:  create role ${name} login password '…';`,
    '-- It must not own the tables, be a member of the role that does, or be a superuser.',
    'begin;',
    'revoke create on schema public from public;',
    `revoke create on schema public from ${name};`,
    `grant usage on schema public to ${name};`,
    ...Object.keys(grants).map(table => `revoke all on ${table} from ${name};`),
    ...Object.entries(grants).map(([table, rights]) => `grant ${rights} on ${table} to ${name};`),
    '-- They alone change history and log: a purge, the leaves of a checkpoint, and the planner’s statistics after a purge.',
    ...functions.map(signature => `grant execute on function ${signature} to ${name};`),
    'commit;',
  ]
  return `${lines.join('\n')}\n`
}

/** Asks the database if its role may change history or log other than by the functions. */
export async function mayChangeHistory(sql: ISql): Promise<boolean> {
  const [row] = await sql<{ may: boolean }[]>`
    select bool_or(
      r.rolsuper or r.rolcreaterole or pg_has_role(c.relowner, 'member')
      or pg_has_role('pg_execute_server_program', 'member') or pg_has_role('pg_write_server_files', 'member')
      or has_table_privilege(c.oid, 'update, delete, truncate, trigger')
      or exists (
        select 1 from pg_attribute a
        where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attname <> ${statisticsColumn}
          and has_column_privilege(c.oid, a.attnum, 'update'))) as may
    from pg_class c join pg_roles r on r.rolname = current_user
    where c.relnamespace = current_schema()::regnamespace and c.relname in ${sql([...historyTables])}`
  return row?.may ?? true
}
