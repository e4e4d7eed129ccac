import * as z from 'zod'
import { type ConsentReceipt, namedPurposes, statusOf } from '../contract/documents/consent-receipt.ts'
import { deletedIds, describeDeletion, erasureResult } from '../contract/documents/deletion-statement.ts'
import type { ErasureCertificate } from '../contract/documents/erasure-certificate.ts'
import type { ErasureReceipt } from '../contract/documents/erasure-receipt.ts'
import type { ExportManifest } from '../contract/documents/export-manifest.ts'
import { findGateContradiction } from '../contract/documents/gate-receipt.ts'
import type { ImportReceipt } from '../contract/documents/import-receipt.ts'
import { type PurgeCertificate, purgeStatement, sealedPurgeStatement } from '../contract/documents/purge-certificate.ts'
import { type WithdrawalReceipt, withdrawalResult } from '../contract/documents/withdrawal-receipt.ts'
import { sameJson } from './canonical.ts'

/** Completes "it is signed, but contradicts …"; null if all agrees. */
export function findContradiction(document: { readonly type: string }): string | null {
  return finders[document.type]?.(document as never) ?? null
}

const finders: Readonly<Record<string, (document: never) => string | null>> = {
  consent_receipt: findInConsentReceipt,
  erasure_certificate: findInCertificate,
  erasure_receipt: findInErasureReceipt,
  purge_certificate: findInPurge,
  withdrawal_receipt: findInWithdrawal,
  gate_receipt: findGateContradiction,
  import_receipt: findInChain,
  export_manifest: findInManifest,
}

function findInConsentReceipt(receipt: ConsentReceipt): string | null {
  const { events, preferences, record_version, privacy_notice, inclusion } = receipt
  const last = events.at(-1)
  if (!last || receipt.consent_status !== statusOf(last.event_state, receipt)) return 'itself on its status'
  if (record_version !== events.length || !sameJson(preferences, last.preferences)) return 'itself on its last event'
  if (!fitsEvents(receipt)) return 'itself on its purposes'
  if (!fitsNewer(receipt)) return 'itself on its newer answers'
  // Each event has a leaf, after that of the notice.
  const notice = privacy_notice.notice === 'held' ? privacy_notice.publication.leaf_index : -1
  return !inclusion || notice + record_version <= inclusion.leaf_index ? null : 'itself on the leaves of the log'
}

/** Each is of another compared record and about another of the purposes, in their order. */
function fitsNewer({ newer_answers: newer, record_id, purposes, ...receipt }: ConsentReceipt): boolean {
  const about = newer.map(({ purpose }) => purpose)
  const names = purposes.length === 0 ? [null] : purposes.map(({ purpose }) => purpose)
  const isOrdered = sameJson(
    about,
    names.filter(name => about.includes(name)),
  )
  const others = new Set(newer.map(each => each.record_id))
  const areCompared = !others.has(record_id) && others.size < (receipt.compared_records ?? 1)
  return isOrdered && areCompared && (receipt.compared_records === null || receipt.pii_principal_id !== null)
}

/** Without the acceptance, which only the history has. */
function fitsEvents({ events, preferences, privacy_notice: notice, purposes }: ConsentReceipt): boolean {
  const answers = events.flatMap(event => Object.entries(event.preferences))
  const answered = answers.flatMap(([name, value]) => (typeof value === 'boolean' ? [name] : []))
  const names = [...new Set([...namedPurposes(notice), ...answered])].sort()
  const times = new Set(events.map(({ given_at, event_time }) => given_at ?? event_time))
  const said = purposes.map(({ purpose }) => purpose)
  if (JSON.stringify(names) !== JSON.stringify(said)) return false
  return purposes.every(({ purpose, state, since }) => {
    const isGiven = Object.hasOwn(preferences, purpose) && preferences[purpose] === true
    const isTime = since === null || times.has(since)
    return isTime && (since === null) === (state === 'not_answered') && (state !== 'given' || isGiven)
  })
}

const counted = ['erased', 'deleted', 'remaining'] as const

function findInCertificate(certificate: ErasureCertificate): string | null {
  const { sites, records, unverified, erased, statement, purge_after_days, held, sealed_proofs: sealed } = certificate
  const isSum = counted.every(name => certificate[name] === total(sites.map(site => site[name])))
  const ids = new Set(records.map(({ id }) => id))
  if (!isSum || records.length !== erased || ids.size !== erased || !areOnce(sites)) return 'itself on its counts'
  if (!unverified.every(id => ids.has(id))) return 'itself on what did not verify'
  if (held && erased > 0) return 'itself on the hold'
  const said = ids.size === new Set(unverified).size ? null : describeDeletion(purge_after_days, sealed !== undefined)
  return statement === said ? null : 'itself in its statement'
}

function findInPurge({ records, statement }: PurgeCertificate): string | null {
  const isSealed = records.some(({ sealed }) => sealed)
  return statement === (isSealed ? sealedPurgeStatement : purgeStatement) ? null : 'itself in its statement'
}

const results = ['deleted', 'already_gone', 'unknown'] as const

function findInErasureReceipt(receipt: ErasureReceipt): string | null {
  const { counts, sites, records, unverified, statement } = receipt
  const isSum = results.every(name => {
    const found = records.filter(({ result }) => result === name)
    const isOfSite = sites.every(site => site[name] === found.filter(each => each.site_id === site.site_id).length)
    return isOfSite && counts[name] === found.length && counts[name] === total(sites.map(site => site[name]))
  })
  const isOnce = new Set(records.map(({ id }) => id)).size === records.length
  if (!isSum || !isOnce || !areOnce(sites)) return 'itself on its counts'
  if (!fitsVerification(receipt)) return 'itself on what remained'
  const deleted = new Set(deletedIds(receipt))
  if (!unverified.every(id => deleted.has(id))) return 'itself on what did not verify'
  const isOfNone = deleted.size === new Set(unverified).size
  if (!receipt.purge && (statement === null) !== isOfNone) return 'itself in its statement'
  if (!fitsCertificates(receipt, deleted)) return 'its certificates'
  if (receipt.purge && receipt.purge.receipt.number >= receipt.number) return 'itself on the receipt that it repeats'
  return findInChain(receipt)
}

/** The result and the records must match what was found live and deleted. */
function fitsVerification({ result, records, verification }: ErasureReceipt): boolean {
  const { live, deleted, remaining, sealed_proofs } = verification
  const listed = new Set(remaining.map(({ id }) => id))
  if (live !== remaining.length || listed.size !== live) return false
  if (!records.every(record => (record.result === 'remaining') === listed.has(record.id))) return false
  return result === erasureResult({ found: records.length, live, deleted, sealed_proofs })
}

const withdrawn = ['withdrawn', 'already_off', 'gone', 'unknown'] as const

function findInWithdrawal(receipt: WithdrawalReceipt): string | null {
  const { counts, records, verification, result } = receipt
  const listed = new Set(verification.remaining.map(({ id }) => id))
  const isSum = withdrawn.every(name => counts[name] === records.filter(record => record.result === name).length)
  if (!isSum || new Set(records.map(({ id }) => id)).size !== records.length) return 'itself on its counts'
  const { remaining, not_answered, live } = verification
  const areListed = records.every(record => (record.result === 'remaining') === listed.has(record.id))
  if (!areListed || listed.size !== remaining.length || Math.max(listed.size, not_answered) > live)
    return 'itself on what remained'
  if (result !== withdrawalResult({ records: records.length, remaining: listed.size })) return 'itself on its result'
  return records.every(record => fitsChange(receipt, record)) ? findInChain(receipt) : 'itself on a change'
}

/** Only a withdrawn record has a change, of one or more of the purposes. */
function fitsChange({ purposes }: WithdrawalReceipt, record: WithdrawalReceipt['records'][number]): boolean {
  const { before, version } = record
  const isChanged = before !== null && version !== null && before < version && record.purposes.length > 0
  const isOfThese = record.purposes.every(purpose => purposes.includes(purpose))
  return record.result === 'withdrawn' ? isChanged && isOfThese : record.purposes.length === 0 && version === null
}

const Certificate = z.object({
  account_id: z.string(),
  subject_hmac: z.string().optional(), // not of a purge
  unverified: z.array(z.string()).default([]),
})

/** Ignores the signatures, because the service's keys are not needed. */
function fitsCertificates(
  { account_id, hmac_key, subject_hmacs, unverified, certificates, purge }: ErasureReceipt,
  deleted: ReadonlySet<string>,
): boolean {
  return [...certificates, ...(purge?.certificates ?? [])].flatMap(readCertificate).every(certificate => {
    const isOfAccount = account_id === null || account_id === certificate.account_id
    const { subject_hmac: subject } = certificate
    const isOfSubject = hmac_key === 'profile' || subject === undefined || subject_hmacs.includes(subject)
    return isOfAccount && isOfSubject && certificate.unverified.every(id => !deleted.has(id) || unverified.includes(id))
  })
}

function readCertificate(text: string): z.output<typeof Certificate>[] {
  try {
    return [Certificate.parse(JSON.parse(text))]
  } catch {
    return [] // receipts may hold any text
  }
}

function findInManifest({ records, sites }: ExportManifest): string | null {
  return records === total(sites.map(site => site.records)) && areOnce(sites) ? null : 'itself on its counts'
}

type Chained = Pick<ErasureReceipt | ImportReceipt | WithdrawalReceipt, 'number' | 'previous'>

function findInChain({ number, previous }: Chained): string | null {
  return (previous?.number ?? 0) === number - 1 ? null : 'itself on the receipt before it'
}

function areOnce(sites: readonly { readonly site_id: string | null }[]): boolean {
  return new Set(sites.map(({ site_id }) => site_id)).size === sites.length
}

function total(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0)
}
