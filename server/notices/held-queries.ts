import type { JSONValue, Sql } from 'postgres'
import { toArrayLiteral } from '../db/fragments.ts'

export interface SiteVersion {
  readonly siteId: string
  readonly version: number
}

/** A published notice whose publication is in the log. */
export interface HeldNotice {
  /** Version of the publication's entry in the administrators' log. */
  readonly entry: number
  /** ISO 8601 duration. */
  readonly validFor: string | null
  readonly languages: readonly string[]
}

interface HeldRow {
  readonly siteId: string
  readonly version: number
  readonly isStrict: boolean
  readonly entry: number | null
  readonly validFor: string | null
  readonly languages: string[]
}

/** Omits sites of other accounts. */
export async function findHeld(
  sql: Sql,
  accountId: string,
  wanted: readonly SiteVersion[],
): Promise<(SiteVersion & { readonly notice: HeldNotice | null; readonly isStrict: boolean })[]> {
  const pairs = wanted.map(({ siteId, version }) => [siteId, version])
  const rows = await sql<HeldRow[]>`
    select s.id as "siteId", w.version, s.strict_notices as "isStrict",
      case when l.leaf_index is not null then n.published_entry end as entry, n.valid_for as "validFor",
      to_jsonb(array(
        select t.language from notice_texts t
        where t.account_id = ${accountId} and t.site_id = w.site_id and t.policy_version = w.version
        order by t.language
      )) as languages
    from (
      select (pair->>0)::uuid as site_id, (pair->>1)::integer as version
      from jsonb_array_elements(${sql.json(pairs as JSONValue)}::jsonb) as pair
    ) w
    join sites s on s.account_id = ${accountId} and s.id = w.site_id
    left join notices n on n.account_id = ${accountId} and n.site_id = w.site_id and n.policy_version = w.version
    left join log_entries l on l.account_id = ${accountId} and l.consent_id = ${accountId}
      and l.version = n.published_entry`
  return rows.map(({ siteId, version, isStrict, entry, validFor, languages }) => ({
    siteId,
    version,
    isStrict,
    notice: entry === null ? null : { entry, validFor, languages },
  }))
}

export interface PublicationRow {
  readonly version: number
  readonly document: string
  readonly hash: Buffer
  /** Null until it is in the log. */
  readonly leaf_index: number | null
}

export function findPublications(sql: Sql, accountId: string, versions: readonly number[]): Promise<PublicationRow[]> {
  return sql<PublicationRow[]>`
    select e.version, e.document, l.hash, l.leaf_index::float8 as leaf_index
    from account_entries e
    join log_entries l on l.account_id = e.account_id and l.consent_id = e.account_id and l.version = e.version
    where e.account_id = ${accountId} and e.version = any (${toArrayLiteral(versions)}::integer[])`
}

/** Returns null until the record's first entry is in the log. */
export async function findFirstLeaf(sql: Sql, accountId: string, recordId: string): Promise<number | null> {
  const [row] = await sql<{ leaf_index: number | null }[]>`
    select leaf_index::float8 as leaf_index from log_entries
    where account_id = ${accountId} and consent_id = ${recordId} and version = 1`
  return row?.leaf_index ?? null
}
