import type { Sql } from 'postgres'
import {
  type ConsentReceipt,
  consentSchemaVersion,
  namedPurposes,
  type PrivacyNotice,
  stateTerms,
  statusOf,
} from '../../src/contract/documents/consent-receipt.ts'
import type { Circumstances } from '../../src/contract/index.ts'
import { describeOrigin } from '../../src/contract/origin.ts'
import { type ChainEntry, entryId, readFacts } from '../../src/evidence/chain.ts'
import { describeBackdating } from '../../src/evidence/dates.ts'
import { type Finding, verifyHistory } from '../../src/evidence/history.ts'
import { consentOf, datePurposes, purposeState } from '../../src/evidence/state.ts'
import type { Caller } from '../auth/caller.ts'
import type { Reach } from '../db/reach.ts'
import { findBackdated, findPlaces } from '../evidence/backdating.ts'
import { proveRecord } from '../evidence/proofs.ts'
import type { Signer } from '../evidence/signer.ts'
import { Failure } from '../failure.ts'
import { newId } from '../ids.ts'
import { findPrivacyNotice } from '../notices/receipt.ts'
import { inspectRecords } from '../verify/records.ts'
import { findEvents, findNewestAnswers } from './queries.ts'
import type { EventRow } from './rows.ts'
import { noConsent } from './service.ts'

/** An event has up to 16 KiB of preferences. */
const maxEvents = 500

const tooManyEvents = `The record has more than ${maxEvents} events, too many for a receipt: read its history instead.`

/**
 * @throws Failure `not_found`, also for a deleted record; `conflict` for too many events or a backdated one;
 * `internal_error` if the history or the log does not verify
 */
export async function issueReceipt(
  { sql, signer }: { readonly sql: Sql; readonly signer: Signer },
  caller: Caller,
  id: string,
): Promise<{ readonly text: string; readonly subjectId: string | null }> {
  const rows = await findEvents(sql, caller, id, maxEvents + 1)
  const last = rows.at(-1)
  if (!last) throw noConsent()
  if (rows.length > maxEvents) throw new Failure('conflict', tooManyEvents)
  const problem = findProblem(id, last, rows)
  if (problem !== null) throw notVerified(id, problem)
  const places = (await findPlaces(sql, caller.accountId, id, signer.keyId)).slice(0, rows.length)
  const backdated = findBackdated(places)
  if (backdated) {
    const reason = `version ${backdated.version} of the record ${id} ${describeBackdating(backdated)}`
    throw new Failure('conflict', `No receipt was signed: ${reason}.`)
  }
  const inclusion = await proveRecord(sql, caller.accountId, places, last.hash)
  const privacy_notice = await findPrivacyNotice(sql, caller.accountId, { ...last, record_id: id })
  const consent = describeConsent(rows, privacy_notice)
  const dates = { issued_at: new Date().toISOString(), expires_at: last.expires_at?.toISOString() ?? null }
  const receipt: Omit<ConsentReceipt, 'key_id'> = {
    type: 'consent_receipt',
    version: 1,
    schema_version: consentSchemaVersion,
    receipt_id: newId(),
    ...dates,
    record_id: id,
    pii_principal_id: last.subject_id,
    consent_id: last.consent_id,
    privacy_notice,
    country: last.country,
    region: last.region,
    consent_status: statusOf(consent.state, dates),
    purposes: consent.purposes,
    ...(await findNewerAnswers(sql, caller, { ...last, ...consent, record_id: id }, dates.issued_at)),
    preferences: last.preferences,
    events: rows.map((row, index) => ({
      event_id: entryId(row.hash),
      event_time: row.created_at.toISOString(),
      event_type: 'dpv:Consent',
      event_state: consent.states[index] ?? 'dpv:ConsentRefused',
      entity_id: row.actor_id,
      changed_by: row.changed_by,
      preferences: row.preferences,
      given_at: row.given_at?.toISOString() ?? null,
      gpc: row.gpc === true,
      ...(row.circumstances && { circumstances: row.circumstances as Circumstances }), // as the hashes have them
    })),
    record_version: last.version,
    chain_head: last.chain_head.toString('hex'),
    inclusion,
    origin: readOrigin(last, rows),
  }
  await requireVerified(sql, caller.accountId, id)
  return { text: await signer.sign(receipt), subjectId: last.subject_id }
}

function describeConsent(rows: readonly EventRow[], notice: PrivacyNotice) {
  const { events, purposes } = consentOf(rows, namedPurposes(notice))
  const states = events.map(({ state }) => stateTerms[state])
  const times = rows.map(({ given_at, created_at }) => (given_at ?? created_at).toISOString())
  return { states, state: states.at(-1) ?? 'dpv:ConsentRefused', purposes: datePurposes(purposes, times) }
}

interface Receivable extends Pick<EventRow, 'subject_id' | 'site_id'>, Pick<ConsentReceipt, 'purposes' | 'record_id'> {}

/** Those about the purposes of a record that are in other records of its subject on its site. */
async function findNewerAnswers(
  sql: Sql,
  reach: Reach,
  { subject_id: subjectId, site_id: siteId, record_id, purposes }: Receivable,
  issued_at: string,
): Promise<Pick<ConsentReceipt, 'compared_records' | 'newer_answers'>> {
  if (subjectId === null) return { compared_records: null, newer_answers: [] }
  const names = purposes.map(({ purpose }) => purpose)
  const rows = await findNewestAnswers(sql, reach.accountId, { subjectId, siteId }, names)
  const compared_records = rows[0]?.compared_records ?? null
  if (compared_records === 0) throw noConsent() // deleted meanwhile
  const newer = rows.flatMap(({ purpose, id, answered_at }) =>
    id === null || answered_at === null || id === record_id ? [] : [{ purpose, id, answered_at }],
  )
  const readers = new Map<string, StateReader>()
  for (const { id } of newer) if (!readers.has(id)) readers.set(id, await readStates(sql, reach, id, issued_at))
  const answers = newer.map(({ purpose, id, answered_at }) => ({
    purpose,
    record_id: id,
    answered_at: answered_at.toISOString(),
    state: readers.get(id)?.(purpose) ?? null,
  }))
  answers.sort((one, other) => names.indexOf(one.purpose ?? '') - names.indexOf(other.purpose ?? ''))
  return { compared_records, newer_answers: answers }
}

type NewerAnswer = ConsentReceipt['newer_answers'][number]
type StateReader = (purpose: string | null) => NewerAnswer['state']

/** Of the live record of another receipt. */
async function readStates(sql: Sql, reach: Reach, id: string, issued_at: string): Promise<StateReader> {
  const rows = await findEvents(sql, reach, id, maxEvents + 1)
  const last = rows.at(-1)
  if (!last) throw new Failure('conflict', `The record ${id} of the same identifier was deleted meanwhile. Try again.`)
  if (rows.length > maxEvents || (await findFinding(sql, reach.accountId, id))) return () => null
  const notice = await findPrivacyNotice(sql, reach.accountId, { ...last, record_id: id })
  const { events, purposes } = consentOf(rows, namedPurposes(notice))
  const states = new Map(purposes.map(({ purpose, state }) => [purpose, state]))
  const isOver = last.expires_at !== null && last.expires_at.toISOString() <= issued_at
  const never = { answer: undefined, wasGiven: false, wasAnswered: false }
  return purpose => {
    const state =
      purpose === null
        ? (events.at(-1)?.state ?? 'refused')
        : (states.get(purpose) ?? purposeState({ accepted: last.accepted, ...never }))
    return isOver && (state === 'given' || state === 'partly') ? 'expired' : state
  }
}

/** Verifies more than the receipt says: a deletion undone by SQL is in the history. */
async function requireVerified(sql: Sql, accountId: string, id: string): Promise<void> {
  const finding = await findFinding(sql, accountId, id)
  if (finding) throw notVerified(id, describe(finding))
}

async function findFinding(sql: Sql, accountId: string, id: string): Promise<Finding | undefined> {
  for await (const { findings } of inspectRecords(sql, accountId, { ids: [id] })) if (findings[0]) return findings[0]
  return undefined
}

function notVerified(id: string, problem: string): Failure {
  return new Failure('internal_error', `The record ${id} does not verify: ${problem}. No receipt was signed.`)
}

function describe({ version, detail }: Finding): string {
  return `${version === null ? '' : `version ${version}: `}${detail}`
}

function readOrigin(record: EventRow, rows: readonly EventRow[]): ConsentReceipt['origin'] {
  const imported = rows.filter(({ action }) => action === 'imported')
  const [first] = imported
  if (!first) return null
  const system = record.origin_system ?? ''
  const imported_at = first.created_at.toISOString()
  const files = [...new Set(imported.flatMap(({ file_sha256: file }) => (file ? [file.toString('hex')] : [])))]
  const statement = describeOrigin({ system, imported_at, files })
  return { system, id: record.origin_id ?? '', evidence: record.origin_evidence ?? null, imported_at, files, statement }
}

function findProblem(id: string, last: EventRow, rows: readonly EventRow[]): string | null {
  const { record_hash: recordHash, ...identity } = last
  const [finding] = verifyHistory({ id, recordHash, identity }, rows.map(toChainEntry))
  if (finding) return describe(finding)
  if (last.record_version !== last.version) return 'its history ends at another version'
  return last.chain_head.equals(last.hash) ? null : 'its head is not the hash of its last entry'
}

function toChainEntry(row: EventRow): ChainEntry {
  const { changed_by: kind, actor_id: id, created_at: at, payload_hash: payloadHash } = row
  return { ...row, actor: { kind, id }, at, payloadHash, facts: readFacts(row) }
}
