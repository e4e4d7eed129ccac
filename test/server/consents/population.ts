import { randomBytes } from 'node:crypto'
import type { JSONValue, Sql } from 'postgres'
import { v7 } from 'uuid'
import type { Consent } from '../../../src/contract/index.ts'
import type { Owner } from './records.ts'

/** Three milliseconds in a row, then gaps: bounds can be on, between and around them. */
export const instants = [0, 1, 2, 1000, 5000].map(offset => new Date(Date.UTC(2026, 4, 17, 9, 30) + offset))

/**
 * Writes `count` records straight into the database, all in five milliseconds and on two sites, and returns them
 * newest first as the API returns them. Lists do not read the hash chain, so it is random.
 */
export async function populate(sql: Sql, owner: Owner, count: number): Promise<Consent[]> {
  const otherSite = v7()
  await sql`
    insert into sites (account_id, id, name, created_at, updated_at)
    values (${owner.accountId}, ${otherSite}, 'another site', now(), now())`
  const rows = Array.from({ length: count }, (_, index) => {
    const at = instants[index % instants.length] as Date
    return {
      id: v7({ msecs: at.getTime() }),
      site_id: index % 3 ? owner.siteId : otherSite,
      consent_id: [null, 'banner', 'Banner'][index % 7] ?? null,
      subject_id: [null, 'zo\u00eb', 'zoe\u0308'][index % 4] ?? null,
      country: null,
      region: null,
      user_agent: null,
      accepted: index % 13 < 6,
      preferences: { index } as JSONValue,
      policy_version: 1,
      created_at: at,
      updated_at: at,
      deleted_at: index % 11 ? null : at,
      account_id: owner.accountId,
      version: 1,
      record_hash: randomBytes(32),
      chain_head: randomBytes(32),
    }
  })
  await sql`insert into consents ${sql(rows.map(row => ({ ...row, preferences: sql.json(row.preferences) })))}`
  const records = rows.map(({ account_id: _, version, record_hash, chain_head, ...record }) => record)
  const shown = JSON.parse(JSON.stringify(records)) as Consent[]
  return shown.sort((one, other) => (one.id < other.id ? 1 : -1))
}

/** Query parameters of a list. */
export interface Filters {
  readonly site_id?: string
  readonly subject_id?: string
  readonly consent_id?: string
  readonly accepted?: string
  readonly imported?: string
  readonly from?: string
  readonly to?: string
  readonly include_deleted?: string
}

/** Returns the records that a list with these filters must contain, in their order. */
export function matching(records: readonly Consent[], filters: Filters): Consent[] {
  const { site_id, subject_id, consent_id, accepted, imported, from, to, include_deleted } = filters
  const milliseconds = (text: string) => Date.parse(text)
  return records.filter(
    record =>
      (site_id === undefined || record.site_id === site_id) &&
      (subject_id === undefined || record.subject_id === subject_id) &&
      (consent_id === undefined || record.consent_id === consent_id) &&
      (accepted === undefined || String(record.accepted) === accepted) &&
      (imported === undefined || String(record.origin !== undefined) === imported) &&
      (from === undefined || milliseconds(record.created_at) >= milliseconds(from)) &&
      (to === undefined || milliseconds(record.created_at) <= milliseconds(to)) &&
      (include_deleted === 'true' || record.deleted_at === null),
  )
}
