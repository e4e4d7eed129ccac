import type { Fragment, ISql } from 'postgres'

/**
 * Every table but that of the migrations, each after those that it refers to, and the order of its rows: that of its primary
 * key, and the same in every database, whatever its collation. A test compares them with the schema.
 */
export const tables = {
  secrets: sql => sql`name collate "C"`,
  signing_keys: sql => sql`key_id collate "C"`,
  logins: sql => sql`email collate "C"`,
  accounts: sql => sql`account_id`,
  users: sql => sql`account_id, id`,
  sites: sql => sql`account_id, id`,
  site_tokens: sql => sql`account_id, site_id, token_hash`,
  api_keys: sql => sql`account_id, id`,
  usage: sql => sql`account_id, month`,
  idempotency_keys: sql => sql`account_id, key collate "C"`,
  consents: sql => sql`account_id, id`,
  consent_history: sql => sql`account_id, consent_id, version`,
  log_entries: sql => sql`account_id, consent_id, version`,
  checkpoints: sql => sql`account_id, tree_size`,
} as const satisfies Record<string, (sql: ISql) => Fragment>

export type TableName = keyof typeof tables

export const tableNames = Object.keys(tables) as TableName[]

export function isTable(name: string): name is TableName {
  return Object.hasOwn(tables, name)
}
