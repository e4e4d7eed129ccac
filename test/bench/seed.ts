import type { Sql } from 'postgres'

/** What a seeded account is to have. */
export interface Seed {
  readonly accountId: string
  /** The site that a new account comes with; the others are made here. */
  readonly siteId: string
  readonly records: number
}

/** Sites, subjects and labels by their role. */
export interface Seeded {
  readonly site: string
  /** Has one record of five thousand. */
  readonly smallSite: string
  /** Nine of ten of its records are deleted: the newest tenth of the account in a row, which no other site has any of. */
  readonly witheredSite: string
  /** Has one record of a hundred, in all sites. */
  readonly busySubject: string
  readonly subject: string
  /** Of two records in five. */
  readonly commonLabel: string
  /** Of one in a hundred. */
  readonly label: string
}

const busySubject = 'shared-tablet'
const commonLabel = 'analytics-2026-05'

/**
 * Fills an account, oldest record first, a record every twenty seconds until an hour ago. One of five thousand is refused;
 * the oldest twentieth is deleted and purged; of the rest see `Seeded`. Then PostgreSQL learns what is in its tables:
 * without that its plans are absurd.
 */
export async function seed(sql: Sql, { accountId, siteId, records }: Seed): Promise<Seeded> {
  const sites = await Promise.all(['Blog', 'Tiny', 'Withered'].map(name => insertSite(sql, accountId, name)))
  const [blog = '', smallSite = '', witheredSite = ''] = sites
  const oldest = Date.now() - 3_600_000 - records * 20_000
  const run = Math.round(records / 10)
  await sql`set statement_timeout = 0`
  await sql`
    insert into consents (
      account_id, id, site_id, consent_id, subject_id, country, region, user_agent, accepted, preferences,
      policy_version, version, record_hash, chain_head, created_at, updated_at, deleted_at, purged_at)
    select ${accountId}, id,
      case when n > ${records - run} or n % 81 = 0 then ${witheredSite}::uuid
        when n % 5000 = 2500 then ${smallSite}::uuid when n % 2 = 0 then ${blog}::uuid else ${siteId}::uuid end,
      case when is_purged or n % 10 = 0 then null when n % 5 < 2 then ${commonLabel} else 'banner-' || n % 90 end,
      case when is_purged then null when n % 100 = 7 then ${busySubject} else 'user-' || n % 300007 end,
      'DE', 'BE', case when not is_purged then
        'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0 Safari/537.36' end,
      n % 5000 <> 1, case when is_purged then '{}' else jsonb_build_object('marketing', n % 2 = 0, 'analytics', true) end,
      1, 1, hash, hash, at, at,
      case when is_purged or n > ${records - run} then at + interval '1 minute' end,
      case when is_purged then at + interval '31 days' end
    from (
      select n, sha256(int4send(n)) as hash, n <= ${Math.round(records / 20)} as is_purged,
        to_timestamp((${oldest}::float8 + n * 20000.0) / 1000) as at,
        (lpad(to_hex((${oldest}::float8 + n * 20000.0)::bigint), 12, '0') || '7' || lpad(to_hex(n % 4096), 3, '0')
          || '8' || substr(md5(n::text), 1, 15))::uuid as id
      from generate_series(1, ${records}::integer) as n
    ) as numbers order by id`
  await sql`
    insert into consent_history (account_id, consent_id, version, action, accepted, preferences, policy_version,
      changed_by, created_at, salt, payload_hash, hash)
    select account_id, id, version, 'created', accepted, preferences, policy_version, 'system', created_at,
      substr(chain_head, 1, 16), chain_head, chain_head
    from consents where account_id = ${accountId}`
  await sql`vacuum (analyze)`
  const [site, subject, label] = [siteId, 'user-7000', 'banner-33']
  return { site, smallSite, witheredSite, busySubject, subject, commonLabel, label }
}

async function insertSite(sql: Sql, accountId: string, name: string): Promise<string> {
  const [row] = await sql<{ id: string }[]>`
    insert into sites (account_id, id, name, created_at, updated_at)
    values (${accountId}, gen_random_uuid(), ${name}, now(), now()) returning id`
  return row?.id ?? ''
}
