import type { Sql } from 'postgres'
import type { NewSite, NewToken, Site, SiteChange, SiteDraft, TokenRotation } from '../../src/contract/index.ts'
import { administrator } from '../audit/entries.ts'
import type { Caller } from '../auth/caller.ts'
import { hashOf, newSiteToken } from '../auth/credential.ts'
import type { TtlCache } from '../auth/ttl-cache.ts'
import type { TokenSite } from '../banner/queries.ts'
import { noSite } from '../failure.ts'
import { newId, readInstant } from '../ids.ts'
import type { PublishedNotices } from '../notices/published.ts'
import { insertSite, listSites, replaceToken, type SiteRow, updateSite } from './queries.ts'

export interface Deps {
  readonly sql: Sql
  readonly tokens: TtlCache<TokenSite>
  readonly notices: PublishedNotices
}

const defaultOverlapHours = 24

export async function getSites({ sql }: Deps, { accountId }: Caller): Promise<{ data: Site[] }> {
  return { data: (await listSites(sql, accountId)).map(toSite) }
}

export async function createSite({ sql }: Deps, caller: Caller, draft: SiteDraft): Promise<NewSite> {
  const { accountId } = caller
  const id = newId()
  const token = newSiteToken(accountId, id)
  const row = await insertSite(
    sql,
    { accountId, id },
    {
      name: draft.name,
      policyVersion: draft.policy_version ?? 1,
      allowedOrigins: draft.allowed_origins ?? [],
      retentionDays: draft.retention_days ?? null,
      strictNotices: draft.strict_notices ?? false,
      tokenHash: hashOf(token),
      at: readInstant(id),
    },
    administrator(caller),
  )
  if (!row) throw new Error('the site was not written')
  return { ...toSite(row), token }
}

/** Takes effect at once on this node, within a second on others. @throws Failure `not_found` */
export async function changeSite(
  { sql, tokens, notices }: Deps,
  caller: Caller,
  id: string,
  change: SiteChange,
): Promise<Site> {
  const row = await updateSite(
    sql,
    { accountId: caller.accountId, id },
    {
      name: change.name ?? null,
      policyVersion: change.policy_version ?? null,
      allowedOrigins: change.allowed_origins ?? null,
      retentionDays: change.retention_days,
      strictNotices: change.strict_notices ?? null,
      at: new Date(),
    },
    administrator(caller),
  )
  tokens.clear()
  notices.clear()
  if (!row) throw noSite()
  return toSite(row)
}

/** Issues a token; earlier ones work until the overlap ends. @throws Failure `not_found` */
export async function rotateToken(
  { sql, tokens }: Deps,
  caller: Caller,
  id: string,
  { overlap_hours = defaultOverlapHours }: TokenRotation,
): Promise<NewToken> {
  const { accountId } = caller
  const token = newSiteToken(accountId, id)
  const at = new Date()
  const until = new Date(at.getTime() + overlap_hours * 60 * 60 * 1000)
  const isWritten = await replaceToken(
    sql,
    { accountId, id },
    { tokenHash: hashOf(token), at, until },
    administrator(caller),
  )
  tokens.clear()
  if (!isWritten) throw noSite()
  return { site_id: id, token, previous_valid_until: until.toISOString() }
}

function toSite({ created_at, updated_at, ...site }: SiteRow): Site {
  return { ...site, created_at: created_at.toISOString(), updated_at: updated_at.toISOString() }
}
