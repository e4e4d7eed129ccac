import type { Sql } from 'postgres'
import type { ConsentDraft } from '../../src/contract/index.ts'
import { endOfConsent } from '../../src/contract/validity.ts'
import { Cache, cacheTtlMs } from '../cache.ts'
import { Failure } from '../failure.ts'
import { findHeld, type HeldNotice, type SiteVersion } from './held-queries.ts'

export type { HeldNotice, SiteVersion } from './held-queries.ts'

export interface Found {
  /** Null until the publication is in the log. */
  readonly notice: HeldNotice | null
  /** True if each consent needs a published notice. */
  readonly isStrict: boolean
}

export type PublishedNotices = Cache<Found>

/** Caches a version without a notice for a second, except on a strict site, which would reject consents meanwhile. */
export function newPublishedNotices(): PublishedNotices {
  return new Cache<Found>(({ notice, isStrict }) => (notice ? Number.POSITIVE_INFINITY : isStrict ? 0 : cacheTtlMs))
}

interface NoticeDeps {
  readonly sql: Sql
  readonly notices: PublishedNotices
}

/** Reads in one statement. */
export async function findPublished(
  { sql, notices }: NoticeDeps,
  accountId: string,
  versions: Iterable<SiteVersion>,
): Promise<(one: SiteVersion) => Found> {
  const keyOf = ({ siteId, version }: SiteVersion) => `${accountId} ${siteId} ${version}`
  const wanted = new Map([...versions].map(one => [keyOf(one), one]))
  const found = await notices.getMany([...wanted.keys()], async missing => {
    const rows = await findHeld(
      sql,
      accountId,
      missing.map(key => wanted.get(key) as SiteVersion),
    )
    return new Map(rows.map(({ notice, isStrict, ...one }) => [keyOf(one), { notice, isStrict }]))
  })
  return one => found.get(keyOf(one)) ?? { notice: null, isStrict: false }
}

/** Rejects consents to a text that was never published. */
export function findRejection({ notice, isStrict }: Found, version: number, draft: ConsentDraft): Failure | null {
  const { notice_locale: locale } = draft
  if (!notice)
    return isStrict
      ? invalid(`policy_version: the site requires a published notice, and version ${version} has none`)
      : null
  if (locale === undefined || notice.languages.includes(locale)) return null
  return invalid(`notice_locale: the notice of version ${version} is published only in ${notice.languages.join(', ')}`)
}

function invalid(message: string): Failure {
  return new Failure('invalid_request', message)
}

export function findExpiry(at: Date, accepted: boolean, validFor: string | null): Date | null {
  return accepted ? endOfConsent(at, validFor) : null
}

export async function findValidity(
  deps: NoticeDeps,
  accountId: string,
  record: { readonly site_id: string; readonly policy_version: number; readonly notice_entry: number | null },
): Promise<string | null> {
  if (record.notice_entry === null) return null
  const one = { siteId: record.site_id, version: record.policy_version }
  return (await findPublished(deps, accountId, [one]))(one).notice?.validFor ?? null
}
