import type { Fragment, Sql } from 'postgres'
import { empty, toArrayLiteral } from './fragments.ts'

/** The part of an account that a caller may reach. */
export interface Reach {
  readonly accountId: string
  /** Null for every site. */
  readonly siteIds: readonly string[] | null
}

/**
 * Condition that a row is of a reachable site, beside that of the account. Nothing for every site, so that their
 * statements stay as they are.
 */
export function andReached(sql: Sql, { siteIds }: Reach, siteId = sql`site_id`): Fragment {
  return siteIds === null ? empty(sql) : sql`and ${siteId} = any (${toArrayLiteral(siteIds)}::uuid[])`
}

/** For a site that a request names; other sites get the same response as unknown ones. */
export function reaches({ siteIds }: Reach, siteId: string): boolean {
  return siteIds === null || siteIds.includes(siteId)
}

/** Key for what callers of one reach may share. */
export function reachKey({ accountId, siteIds }: Reach): string {
  return siteIds === null ? accountId : `${accountId} ${siteIds.join()}`
}

export function wholeAccount(accountId: string): Reach {
  return { accountId, siteIds: null }
}
