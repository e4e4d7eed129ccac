import type { Sql } from 'postgres'
import type * as z from 'zod'
import {
  isShorterThanNotice,
  type NewSite,
  type NewToken,
  type Retention,
  type Site,
  type SiteChange,
  type SiteDraft,
  type SiteQuery,
  type TokenRotation,
} from '../../src/contract/index.ts'
import { administrator } from '../audit/entries.ts'
import type { Caller } from '../auth/caller.ts'
import { hashOf, newSiteToken } from '../auth/credential.ts'
import type { TokenSite } from '../banner/queries.ts'
import type { Cache } from '../cache.ts'
import type { Reach } from '../db/reach.ts'
import { toJson } from '../db/rows.ts'
import { Failure, noSite } from '../failure.ts'
import { newId, readInstant } from '../ids.ts'
import type { PublishedNotices } from '../notices/published.ts'
import {
  insertSite,
  isNameTaken,
  listSites,
  listValidities,
  replaceToken,
  type SiteKey,
  updateSite,
} from './queries.ts'

export interface SiteDeps {
  readonly sql: Sql
  readonly tokens: Cache<TokenSite>
  readonly notices: PublishedNotices
}

const defaultOverlapHours = 24

export async function getSites(
  { sql }: SiteDeps,
  reach: Reach,
  { include_archived = false }: z.output<typeof SiteQuery>,
): Promise<{ data: Site[] }> {
  return { data: (await listSites(sql, reach, include_archived)).map(row => toJson<Site>(row)) }
}

/**
 * Concurrent requests can still create a duplicate name.
 * @throws Failure `conflict`
 */
async function requireFreeName(sql: Sql, key: SiteKey, name: string | null): Promise<void> {
  if (await isNameTaken(sql, key, name))
    throw new Failure(
      'conflict',
      'name: another site already has this name; to create a second one, set allow_duplicate',
      { reason: 'name_taken' },
    )
}

export async function createSite({ sql }: SiteDeps, caller: Caller, draft: SiteDraft): Promise<NewSite> {
  const { accountId } = caller
  const id = newId()
  if (!draft.allow_duplicate) await requireFreeName(sql, { accountId, id }, draft.name)
  const token = newSiteToken(accountId, id)
  const row = await insertSite(
    sql,
    { accountId, id },
    draft,
    { tokenHash: hashOf(token), at: readInstant(id) },
    administrator(caller),
  )
  if (!row) throw new Error('the site was not written')
  return { ...toJson<Site>(row), token }
}

/**
 * A notice that is published later does not reject: the job keeps consents that are valid.
 * @throws Failure `conflict`
 */
async function requireLongerThanNotices(sql: Sql, key: SiteKey, retention: Retention): Promise<void> {
  const notice = (await listValidities(sql, key)).find(({ valid_for }) => isShorterThanNotice(retention, valid_for))
  if (!notice) return
  const validity = notice.valid_for === null ? 'does not expire' : `is valid for ${notice.valid_for}`
  throw new Failure(
    'conflict',
    `retention: a consent to the notice of version ${notice.policy_version} ${validity}; choose a longer period, or count it from expiry or withdrawal`,
    { reason: 'notice_valid_longer' },
  )
}

/**
 * Takes effect immediately on this node, within a second on others.
 * @throws Failure `not_found`, `conflict`
 */
export async function changeSite(
  { sql, tokens, notices }: SiteDeps,
  caller: Caller,
  id: string,
  change: SiteChange,
): Promise<Site> {
  const key = { accountId: caller.accountId, id }
  if (!change.allow_duplicate && (change.name !== undefined || change.archived === false))
    await requireFreeName(sql, key, change.name ?? null)
  if (change.retention) await requireLongerThanNotices(sql, key, change.retention)
  const row = await updateSite(sql, key, change, { actor: administrator(caller), at: new Date() })
  tokens.clear()
  notices.clear()
  if (!row) throw noSite()
  return toJson<Site>(row)
}

/**
 * Earlier tokens work until the overlap ends.
 * @throws Failure `not_found`
 */
export async function rotateToken(
  { sql, tokens }: SiteDeps,
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
