import type { Sql } from 'postgres'
import { expect } from 'vitest'
import type { TestAccount } from '../../support/service.ts'

/** Inserts records with ids of version 7, five a millisecond and in no order within it; returns the ids, newest first. */
export async function seed(
  sql: Sql,
  { accountId, siteId }: TestAccount,
  count: number,
  preferences: Record<string, string> = {},
): Promise<string[]> {
  const start = Date.UTC(2026, 0, 31)
  const rows = await sql<{ id: string }[]>`
    with ids as (
      select ${start}::bigint + n / 5 as ms, md5(random()::text) as chance from generate_series(1, ${count}) n
    ), made as (
      insert into consents (
        account_id, id, site_id, accepted, preferences, policy_version, version, record_hash, chain_head, created_at,
        updated_at)
      select ${accountId}::uuid,
        (lpad(to_hex(ms), 12, '0') || '7' || left(chance, 3) || 'a' || right(chance, 15))::uuid,
        ${siteId}::uuid, true, ${sql.json(preferences)}, 1, 1, sha256(''), sha256(''), to_timestamp(ms / 1000.0), to_timestamp(ms / 1000.0)
      from ids
      returning id
    )
    select id from made order by id desc`
  expect(rows).toHaveLength(count)
  return rows.map(({ id }) => id)
}
