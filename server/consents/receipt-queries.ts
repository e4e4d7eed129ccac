import type { Sql } from 'postgres'
import type { Actor } from '../../src/evidence/chain.ts'

/** An event of a live record, with what the record is beside. */
export interface EventRow {
  site_id: string
  consent_id: string | null
  subject_id: string | null
  country: string | null
  region: string | null
  policy_version: number
  version: number
  chain_head: Buffer
  accepted: boolean
  preferences: Record<string, unknown>
  changed_by: Actor['kind']
  actor_id: string | null
  created_at: Date
  hash: Buffer
}

/**
 * The events of a live record with the record itself, oldest first, in one statement: no change falls in between. None
 * where the account has no such record, or it is deleted.
 */
export function listEvents(sql: Sql, accountId: string, id: string): Promise<EventRow[]> {
  return sql<EventRow[]>`
    select c.site_id, c.consent_id, c.subject_id, c.country, c.region, c.policy_version, c.version, c.chain_head,
      h.accepted, h.preferences, h.changed_by, h.actor_id, h.created_at, h.hash
    from consents c
    join consent_history h on h.account_id = c.account_id and h.consent_id = c.id
    where c.account_id = ${accountId} and c.id = ${id} and c.deleted_at is null
    order by h.version`
}
