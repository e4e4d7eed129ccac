import type { Sql } from 'postgres'
import type { SealedSetting } from '../../src/contract/index.ts'
import { empty, toArrayLiteral } from '../db/fragments.ts'
import { andReached, type Reach } from '../db/reach.ts'

export interface SealedProofRow {
  record_id: string
  site_id: string
  purged_at: Date
  basis: string
  until: string
  answers?: { version: number; preferences: Record<string, boolean> }[]
}

/** Newest record first; of one record with its answers. */
export function listSealed(
  sql: Sql,
  reach: Reach,
  { subjectHmac, recordId }: { readonly subjectHmac: string; readonly recordId?: string | undefined },
  limit: number,
): Promise<SealedProofRow[]> {
  const isOne = recordId !== undefined
  return sql<SealedProofRow[]>`
    select p.consent_id as record_id, c.site_id, p.created_at as purged_at, p.sealed->>'basis' as basis,
      p.sealed->>'until' as until ${isOne ? sql`, p.sealed->'answers' as answers` : empty(sql)}
    from consent_history p
    cross join lateral (
      select site_id from consents where account_id = ${reach.accountId} and id = p.consent_id offset 0
    ) c
    where p.account_id = ${reach.accountId} and p.sealed is not null and p.sealed->>'subject_hmac' = ${subjectHmac}
      ${isOne ? sql`and p.consent_id = ${recordId}::uuid` : empty(sql)} ${andReached(sql, reach, sql`c.site_id`)}
    order by p.consent_id desc limit ${limit}`
}

/** True if a purge of the record sealed this HMAC. */
export async function isSealed(sql: Sql, reach: Reach, id: string, subjectHmac: string): Promise<boolean> {
  const rows = await sql`
    select 1 from consent_history p
    cross join lateral (
      select site_id from consents where account_id = ${reach.accountId} and id = p.consent_id offset 0
    ) c
    where p.account_id = ${reach.accountId} and p.consent_id = ${id} and p.sealed is not null
      and p.sealed->>'subject_hmac' = ${subjectHmac} ${andReached(sql, reach, sql`c.site_id`)}`
  return rows.length > 0
}

export interface SealedSite extends SealedSetting {
  site_id: string
}

/** Those whose purge will leave a proof of a record that was deleted at that time. */
export function findSealedSites(
  sql: Sql,
  accountId: string,
  deleted: readonly { readonly siteId: string; readonly at: Date }[],
): Promise<SealedSite[]> {
  const [ids, times] = [deleted.map(({ siteId }) => siteId), deleted.map(({ at }) => at.toISOString())]
  return sql<SealedSite[]>`
    select s.id as site_id, s.sealed_proof->>'basis' as basis, s.sealed_proof->>'period' as period from sites s
    where s.account_id = ${accountId} and s.sealed_proof is not null and exists (
      select 1 from unnest(${toArrayLiteral(ids)}::uuid[], ${toArrayLiteral(times)}::text[]) as d (site_id, at)
      where d.site_id = s.id and d.at collate "C" >= (s.sealed_proof->>'since') collate "C")
    order by s.id`
}
