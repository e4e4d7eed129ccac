import type { AuditEntry } from '../../src/contract/index.ts'
import { entryId } from '../../src/evidence/chain.ts'
import type { EntryRow } from './rows.ts'

/** An audit entry as the API shows it (service specification section 2.2), with its link in the chain. */
export function toAuditEntry(row: EntryRow): AuditEntry {
  return {
    id: entryId(row.hash),
    consent_id: row.consent_id,
    action: row.action,
    accepted: row.accepted,
    preferences: row.preferences,
    policy_version: row.policy_version,
    changed_by: row.changed_by,
    actor_id: row.actor_id,
    created_at: row.created_at.toISOString(),
    version: row.version,
    salt: row.salt?.toString('hex') ?? null,
    record_hash: row.record_hash?.toString('hex') ?? null,
    payload_hash: row.payload_hash.toString('hex'),
    hash: row.hash.toString('hex'),
  }
}
