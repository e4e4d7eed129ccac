import type { Sql } from 'postgres'
import type { Identity } from '../../src/evidence/chain.ts'
import type { EntryRow } from './rows.ts'

/** An event of a live record, with what the record is beside. */
export interface EventRow extends Identity, Omit<EntryRow, 'consent_id' | 'record_hash'> {
  record_version: number
  record_hash: Buffer
  chain_head: Buffer
}

/**
 * The first events of a live record with the record itself, oldest first, in one statement: no change falls in between. None
 * where the account has no such record, or it is deleted.
 */
export function listEvents(sql: Sql, accountId: string, id: string, limit: number): Promise<EventRow[]> {
  return sql<EventRow[]>`
    select c.site_id, c.consent_id, c.subject_id, c.country, c.region, c.user_agent, c.ip_network,
      c.version as record_version, c.record_hash, c.chain_head, h.version, h.action, h.accepted, h.preferences,
      h.policy_version, h.changed_by, h.actor_id, h.created_at, h.salt, h.payload_hash, h.hash
    from consents c
    join consent_history h on h.account_id = c.account_id and h.consent_id = c.id
    where c.account_id = ${accountId} and c.id = ${id} and c.deleted_at is null
    order by h.version limit ${limit}`
}
