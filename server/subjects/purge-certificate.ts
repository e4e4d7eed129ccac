import {
  type PurgeCertificate,
  purgeStatement,
  sealedPurgeStatement,
} from '../../src/contract/documents/purge-certificate.ts'
import type { PurgeAnswer, PurgeQuestion, SubjectPurge, SubjectPurged } from '../../src/contract/index.ts'
import type { Caller } from '../auth/caller.ts'
import { unavailable } from '../failure.ts'
import { requireRecordsNotHeld } from '../holds/held.ts'
import { newId, readInstant } from '../ids.ts'
import { purgeNamed } from '../purge/service.ts'
import type { StoredRecord } from '../verify/queries.ts'
import { inspectRecords, type Stored } from '../verify/records.ts'
import { type Deps, signingTime } from './service.ts'

/**
 * Certifies the records that are purged and verify. `until` is a deadline (`performance.now()`).
 * @throws Failure `unavailable` at the deadline
 */
export async function certifyPurge(
  { sql, signer }: Pick<Deps, 'sql' | 'signer'>,
  caller: Caller,
  { ids }: PurgeQuestion,
  { requestId, until, signs = true }: { readonly requestId: string; readonly until: number; readonly signs?: boolean },
): Promise<PurgeAnswer> {
  const found: PurgeAnswer['records'] = []
  const purged: PurgeCertificate['records'] = []
  for await (const { records, verified } of inspectRecords(sql, caller.accountId, { ids })) {
    if (performance.now() > until)
      throw unavailable('The histories are too long to be verified in time: send fewer ids.')
    const isVerified = new Set(verified.map(({ record }) => record))
    for (const { record, entries } of records.filter(hasRecord)) {
      const state = isVerified.has(record) ? findState(record) : 'unverified'
      const sealed = sealedIn(entries, state)
      found.push({ id: record.id, site_id: record.site_id, state, ...instantsOf(record), ...sealed })
      if (state === 'purged') purged.push({ ...toCertified(record), ...sealed })
    }
  }
  const id = newId()
  const certificate: Omit<PurgeCertificate, 'key_id'> = {
    type: 'purge_certificate',
    version: 1,
    certificate_id: id,
    issued_at: readInstant(id).toISOString(),
    statement: purged.some(({ sealed }) => sealed) ? sealedPurgeStatement : purgeStatement,
    account_id: caller.accountId,
    requested_by: { kind: caller.kind === 'user' ? 'user' : 'api_key', id: caller.id },
    request_id: requestId,
    records: purged,
  }
  return {
    records: found,
    certificate: !signs || purged.length === 0 ? null : await signer.sign(certificate, signingTime(until)),
  }
}

const purgeShare = 0.4

interface PurgeCall {
  readonly requestId: string
  readonly timeLeftMs: number
  readonly onProblem: (problem: string) => void
}

/** Purges deleted records until the deadline, and certifies the purged ones. Can be retried. */
export async function purgeSubject(
  deps: Pick<Deps, 'sql' | 'signer'>,
  caller: Caller,
  { ids, dry_run = false }: SubjectPurge,
  { requestId, timeLeftMs, onProblem }: PurgeCall,
): Promise<SubjectPurged> {
  const until = performance.now() + timeLeftMs
  if (!dry_run) {
    await requireRecordsNotHeld(deps.sql, caller.accountId, ids)
    await deps.signer.requireReady(0.2 * timeLeftMs)
    const signal = AbortSignal.timeout(Math.floor(purgeShare * timeLeftMs))
    await purgeNamed(deps.sql, caller.accountId, ids, { signal, actor: caller, onProblem })
  }
  const { records, certificate } = await certifyPurge(deps, caller, { ids }, { requestId, until, signs: !dry_run })
  const complete = records.every(({ state }) => state !== 'deleted')
  return { records, certificate, complete, dry_run }
}

/** A long purge sets its time at the end. */
function findState({ deleted_at, purged_at, ...record }: StoredRecord): 'live' | 'deleted' | 'purged' {
  const { subject_id, consent_id, user_agent, ip_network, notice_locale } = record
  const isLeft = [subject_id, consent_id, user_agent, ip_network, notice_locale].some(value => value !== null)
  if (purged_at !== null && !isLeft) return 'purged'
  return deleted_at === null ? 'live' : 'deleted'
}

function hasRecord(stored: Stored): stored is Stored & { record: StoredRecord } {
  return stored.record !== null
}

/** Of a verified purge: another one may have been changed. */
function sealedIn(entries: Stored['entries'], state: string): { sealed?: { basis: string; until: string } } {
  const sealed = state === 'purged' ? entries.at(-1)?.sealed : null
  return sealed ? { sealed: { basis: sealed.basis, until: sealed.until } } : {}
}

function instantsOf({ deleted_at, purged_at }: StoredRecord) {
  return { deleted_at: deleted_at?.toISOString() ?? null, purged_at: purged_at?.toISOString() ?? null }
}

function toCertified(record: StoredRecord): PurgeCertificate['records'][number] {
  const { id, site_id, chain_head } = record
  const { deleted_at, purged_at } = instantsOf(record)
  return {
    id,
    site_id,
    deleted_at: deleted_at ?? '',
    purged_at: purged_at ?? '',
    chain_head: chain_head.toString('hex'),
  }
}
