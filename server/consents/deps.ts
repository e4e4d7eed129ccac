import type { Sql } from 'postgres'
import { Cache } from '../cache.ts'
import type { Config } from '../config.ts'
import type { Batcher } from '../db/batching.ts'
import type { Geo } from '../net/geo.ts'
import type { PublishedNotices } from '../notices/published.ts'
import { findPolicyVersions } from './queries.ts'
import type { Created, Draft, FoundConsent } from './rows.ts'

export interface ConsentDeps {
  readonly sql: Sql
  readonly config: Pick<Config, 'ipStorage'>
  readonly geo: Geo
  readonly originSecret: Uint8Array
  readonly policies: Policies
  readonly notices: PublishedNotices
  readonly reads: Batcher<string, FoundConsent | undefined>
  readonly creates: Batcher<Draft, Created>
}

/** Current policy versions, without expiry: a record is not written if its version has changed. */
export type Policies = Cache<number>

export function newPolicies(): Policies {
  return new Cache<number>(() => Number.POSITIVE_INFINITY)
}

interface PolicyDeps {
  readonly sql: Sql
  readonly policies: Policies
}

/** Returns possibly outdated versions by site id, without other accounts' sites. */
export async function guessPolicies(
  { sql, policies }: PolicyDeps,
  accountId: string,
  siteIds: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const keys = new Map(siteIds.map(id => [accountId + id, id]))
  const found = await policies.getMany([...keys.keys()], async missing => {
    const versions = await findPolicyVersions(
      sql,
      accountId,
      missing.map(key => keys.get(key) as string),
    )
    return new Map([...versions].map(([id, version]) => [accountId + id, version]))
  })
  return new Map([...found].map(([key, version]) => [keys.get(key) as string, version]))
}

export function readPolicies(
  deps: PolicyDeps,
  accountId: string,
  siteIds: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  deps.policies.delete(siteIds.map(id => accountId + id))
  return guessPolicies(deps, accountId, siteIds)
}
