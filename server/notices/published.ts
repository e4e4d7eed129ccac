import type { Sql } from 'postgres'
import { Cache, cacheTtlMs } from '../cache.ts'
import { findHeld, type HeldNotice, type SiteVersion } from './held-queries.ts'

export type { HeldNotice, SiteVersion } from './held-queries.ts'

export interface Found {
  /** Null until a checkpoint covers the publication. */
  readonly notice: HeldNotice | null
  /** True if each consent needs a published notice. */
  readonly isStrict: boolean
}

export type PublishedNotices = Cache<Found>

/** Caches a version without a notice for a second, except on a strict site, which would reject consents meanwhile. */
export function newPublishedNotices(): PublishedNotices {
  return new Cache<Found>(({ notice, isStrict }) => (notice ? Number.POSITIVE_INFINITY : isStrict ? 0 : cacheTtlMs))
}

/** Returns what was found about a site's version, read in one statement. */
export async function findPublished(
  { sql, notices }: { readonly sql: Sql; readonly notices: PublishedNotices },
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
