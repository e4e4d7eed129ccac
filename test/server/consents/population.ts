import { randomBytes } from 'node:crypto'
import type { JSONValue, Sql } from 'postgres'
import { v7 } from 'uuid'
import type { Consent, FilterName } from '../../../src/contract/index.ts'
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
      given_at: index % 9 < 4 ? at : null,
      origin_system: index % 9 < 4 ? 'acme' : null,
      origin_id: index % 9 < 4 ? `person-${index}` : null,
    }
  })
  await sql`insert into consents ${sql(rows.map(row => ({ ...row, preferences: sql.json(row.preferences) })))}`
  const records = rows.map(
    ({
      account_id: _,
      version,
      record_hash,
      chain_head,
      given_at,
      origin_system: system,
      origin_id: id,
      ...record
    }) => ({
      ...record,
      ...(given_at && { given_at, origin: { system, id, evidence: null } }),
    }),
  )
  const shown = JSON.parse(JSON.stringify(records)) as Consent[]
  return shown.sort((one, other) => (one.id < other.id ? 1 : -1))
}

/** Query parameters of a list. */
export type Filters = { readonly [Name in FilterName | 'include_deleted']?: string }

/** A value of each filter that finds some of the records, but of the site, which is the owner's. */
export const samples: Readonly<Record<Exclude<FilterName, 'site_id'>, string>> = {
  subject_id: 'zo\u00eb',
  consent_id: 'banner',
  accepted: 'true',
  imported: 'true',
  from: instants[1]?.toISOString() ?? '',
  to: instants[3]?.toISOString() ?? '',
}

/** Tells if a list with the value of the filter has the record. */
export const meets: Readonly<Record<FilterName, (record: Consent, value: string) => boolean>> = {
  site_id: ({ site_id }, value) => site_id === value,
  subject_id: ({ subject_id }, value) => subject_id === value,
  consent_id: ({ consent_id }, value) => consent_id === value,
  accepted: ({ accepted }, value) => String(accepted) === value,
  imported: ({ origin }, value) => String(origin !== undefined) === value,
  from: ({ created_at }, value) => Date.parse(created_at) >= Date.parse(value),
  to: ({ created_at }, value) => Date.parse(created_at) <= Date.parse(value),
}

/** Returns the records that a list with these filters must contain, in their order. */
export function matching(records: readonly Consent[], { include_deleted, ...filters }: Filters): Consent[] {
  const wanted = Object.entries(filters) as [FilterName, string][]
  return records.filter(
    record =>
      wanted.every(([name, value]) => meets[name](record, value)) &&
      (include_deleted === 'true' || record.deleted_at === null),
  )
}
