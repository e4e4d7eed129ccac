import type { AuditEntry, Consent } from '../../src/contract/index.ts'
import { entryId } from '../../src/evidence/chain.ts'
import type { ConsentRow, EntryRow } from './rows.ts'

/** A record as the API shows it (service specification section 2.1): without its address, chain and version. */
export function toConsent(row: ConsentRow): Consent {
  return {
    id: row.id,
    site_id: row.site_id,
    consent_id: row.consent_id,
    subject_id: row.subject_id,
    country: row.country,
    region: row.region,
    user_agent: row.user_agent,
    accepted: row.accepted,
    preferences: row.preferences,
    policy_version: row.policy_version,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
    deleted_at: row.deleted_at?.toISOString() ?? null,
  }
}

/** An audit entry as the API shows it (section 2.2), with its link in the chain. */
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
