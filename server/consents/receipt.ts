import type { Sql } from 'postgres'
import {
  type ConsentReceipt,
  type ConsentState,
  consentContext,
  consentSchemaVersion,
} from '../../src/contract/documents/consent-receipt.ts'
import { type ChainEntry, entryId } from '../../src/evidence/chain.ts'
import { type Finding, verifyHistory } from '../../src/evidence/history.ts'
import type { Caller } from '../auth/caller.ts'
import type { Signer } from '../evidence/signer.ts'
import { Failure } from '../failure.ts'
import { newId } from '../ids.ts'
import { findEvents } from './queries.ts'
import type { EventRow } from './rows.ts'
import { noConsent } from './service.ts'

/**
 * Throws `internal_error` unless record and history are as they were written. Its message is what the log has of it too, and
 * so it names the record.
 */
function requireWhole(id: string, rows: readonly EventRow[]): void {
  const problem = problemOf(id, rows)
  if (problem === null) return
  const message = `The record ${id} is not what was written: ${problem}. No receipt of it is signed.`
  throw new Failure('internal_error', message)
}

function problemOf(id: string, rows: readonly EventRow[]): string | null {
  const last = rows.at(-1)
  if (!last) return 'it has no history'
  const { record_hash: recordHash, ...identity } = last
  const [found] = verifyHistory({ id, recordHash, identity }, rows.map(entryOf))
  if (found) return sentenceOf(found)
  if (last.record_version !== last.version) return 'its history does not end where it does'
  return last.chain_head.equals(last.hash) ? null : 'its head is not the hash of its last entry'
}

function sentenceOf({ version, detail }: Finding): string {
  return version === null ? detail : `version ${version}: ${detail}`
}

function entryOf(row: EventRow): ChainEntry {
  const { changed_by: kind, actor_id: id, created_at: at, payload_hash: payloadHash } = row
  return { ...row, actor: { kind, id }, at, payloadHash }
}

/** Each may hold 16 KiB of preferences, and all of them are hashed and signed at once. */
const mostEvents = 500

const tooMany = `The record has more than ${mostEvents} events, too many for a receipt; its history has them all.`

/**
 * The text of a signed consent receipt. Throws `not_found` as a read does, for a deleted record too;
 * `conflict` for one with more events than a receipt holds; and
 * `internal_error` where the history is not what was written, for a signature would make it look as if it were.
 */
export async function issueReceipt(
  { sql, signer }: { readonly sql: Sql; readonly signer: Signer },
  caller: Caller,
  id: string,
): Promise<string> {
  const rows = await findEvents(sql, caller.accountId, id, mostEvents + 1)
  const last = rows.at(-1)
  if (!last) throw noConsent()
  if (rows.length > mostEvents) throw new Failure('conflict', tooMany)
  requireWhole(id, rows)
  const states = statesOf(rows)
  const receipt: Omit<ConsentReceipt, 'key_id'> = {
    type: 'consent_receipt',
    version: 1,
    '@context': consentContext,
    schema_version: consentSchemaVersion,
    receipt_id: newId(),
    issued_at: new Date().toISOString(),
    record_id: id,
    pii_principal_id: last.subject_id,
    consent_id: last.consent_id,
    privacy_notice: { site_id: last.site_id, policy_version: last.policy_version },
    country: last.country,
    region: last.region,
    consent_status: states.at(-1) as ConsentState,
    preferences: last.preferences,
    events: rows.map((row, index) => ({
      event_id: entryId(row.hash),
      event_time: row.created_at.toISOString(),
      event_type: 'dpv:Consent',
      event_state: states[index] as ConsentState,
      entity_id: row.actor_id,
      changed_by: row.changed_by,
      preferences: row.preferences,
    })),
    record_version: last.version,
    chain_head: last.chain_head.toString('hex'),
  }
  return signer.sign(receipt)
}

/** The state after each event: to take back what was never given is to go on refusing it. */
function statesOf(rows: readonly EventRow[]): ConsentState[] {
  let wasGiven = false
  return rows.map(({ accepted }) => {
    wasGiven ||= accepted
    return accepted ? 'dpv:ConsentGiven' : wasGiven ? 'dpv:ConsentWithdrawn' : 'dpv:ConsentRefused'
  })
}
