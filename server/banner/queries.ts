import type { Sql } from 'postgres'
import { type LiveState, liveState, type Parts } from '../consents/queries.ts'
import { withJson } from '../consents/record-text.ts'

export interface TokenSite {
  allowed_origins: string[]
  expires_at: Date | null
}

export async function findTokenSite(
  sql: Sql,
  { accountId, siteId, tokenHash }: { accountId: string; siteId: string; tokenHash: Buffer },
): Promise<TokenSite | undefined> {
  const [row] = await sql<TokenSite[]>`
    select s.allowed_origins, t.expires_at
    from site_tokens t join sites s on s.account_id = t.account_id and s.id = t.site_id
    where t.account_id = ${accountId} and t.site_id = ${siteId} and t.token_hash = ${tokenHash}
      and s.archived_at is null`
  return row
}

export interface VisitedRecord extends LiveState {
  consent_id: string | null
  subject_id: string | null
  notice_locale: string | null
  gpc: boolean | null
  /** Null for a refusal, or if the consent does not expire. */
  expires_at: Date | null
  sites_policy: number
  /** Null unless a page of the site made the last change. */
  request_hash: Buffer | null
}

export async function findVisitedRecord(
  sql: Sql,
  { accountId, siteId, id }: { accountId: string; siteId: string; id: string },
): Promise<VisitedRecord | undefined> {
  const [row] = await sql<Parts<VisitedRecord>[]>`
    select ${liveState(sql)}, consent_id, subject_id, notice_locale, gpc, expires_at, request_hash,
      (select s.policy_version from sites s where s.account_id = ${accountId} and s.id = ${siteId}) as sites_policy
    from consents where account_id = ${accountId} and id = ${id} and site_id = ${siteId} and deleted_at is null`
  return row && withJson(row)
}
