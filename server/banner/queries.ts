import type { Sql } from 'postgres'

export interface TokenSite {
  allowed_origins: string[]
  /** Null for the current token. */
  expires_at: Date | null
}

export async function findTokenSite(
  sql: Sql,
  { accountId, siteId, tokenHash }: { accountId: string; siteId: string; tokenHash: Buffer },
): Promise<TokenSite | undefined> {
  const [row] = await sql<TokenSite[]>`
    select s.allowed_origins, t.expires_at
    from site_tokens t join sites s on s.account_id = t.account_id and s.id = t.site_id
    where t.account_id = ${accountId} and t.site_id = ${siteId} and t.token_hash = ${tokenHash}`
  return row
}
