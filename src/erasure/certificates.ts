import * as z from 'zod'
import { deletedIds, describePurge } from '../contract/documents/deletion-statement.ts'
import type { ErasureReceipt } from '../contract/documents/erasure-receipt.ts'
import { PurgeCertificate } from '../contract/documents/purge-certificate.ts'
import { erasedRecordsLimit, type PurgeAnswer } from '../contract/subjects.ts'
import { dataError } from '../errors/errors.ts'
import { findSignatureProblem, type TrustedKey } from '../evidence/key-chain.ts'
import { readSigned, signDocument } from '../evidence/signed.ts'
import type { Signer } from '../receipts/signer.ts'
import { type ReceiptStore, sha256 } from '../receipts/store.ts'
import { allReceipts, appendReceipt, isErasure, type StoredReceipt } from './receipts.ts'
import type { AskForPurge } from './records.ts'
import type { PurgeSeen } from './sentences.ts'

type Erased = StoredReceipt<ErasureReceipt>

/** Other services may add fields. */
const Certificate = z.object({
  type: z.literal('erasure_certificate'),
  erased: z.int().min(0),
  account_id: z.string(),
  subject_hmac: z.string(),
  request_id: z.string(),
  records: z.array(z.object({ id: z.string() })),
  unverified: z.array(z.string()),
})
type Certificate = z.output<typeof Certificate>

/**
 * Returns the first fault of a receipt's certificates, or null. Each must be signed by a published key, and name exactly
 * the records that its request deleted; `findContradiction` compares the rest. `subjectHmac`: of the only subject; null
 * if unknown.
 */
export function findCertificateFault(
  receipt: ErasureReceipt,
  keys: ReadonlyMap<string, TrustedKey>,
  subjectHmac: string | null,
): string | null {
  const { certificates } = receipt
  const found: Certificate[] = []
  for (const [index, text] of certificates.entries()) {
    const certificate = readCertificate(text, keys)
    const fault = typeof certificate === 'string' ? certificate : findBindingFault(certificate, receipt, subjectHmac)
    if (fault !== null) return `${index + 1} of ${certificates.length} ${fault}`
    found.push(certificate as Certificate)
  }
  return findCoverFault(found, receipt)
}

function findBindingFault(
  { subject_hmac, request_id, records, erased }: Certificate,
  receipt: ErasureReceipt,
  subjectHmac: string | null,
): string | null {
  if (subjectHmac !== null && subject_hmac !== subjectHmac) return 'is about another data subject'
  if (records.length !== erased) return 'contradicts itself'
  const outcomes = new Map(receipt.records.map(record => [record.id, record]))
  for (const { id } of records) {
    const outcome = outcomes.get(id)
    if (outcome?.result === 'remaining') continue
    if (outcome?.result !== 'deleted') return `names the record ${id}, which the receipt does not say was deleted`
    if (outcome.request_id !== request_id) return `names the record ${id}, which another request deleted`
  }
  return null
}

/** Each deleted record must be listed, unless its response was lost. */
function findCoverFault(certificates: readonly Certificate[], { records }: ErasureReceipt): string | null {
  const named = new Set(certificates.flatMap(certificate => certificate.records.map(({ id }) => id)))
  const missing = records.find(
    ({ id, result, request_id }) => result === 'deleted' && request_id !== null && !named.has(id),
  )
  return missing ? `none names the record ${missing.id}, which the receipt says was deleted` : null
}

function readCertificate(text: string, keys: ReadonlyMap<string, TrustedKey>): Certificate | string {
  const document = readOfService(text, keys)
  if (typeof document === 'string') return document
  return Certificate.safeParse(document).data ?? 'is not an erasure certificate'
}

/** Returns a problem as text that completes "the document …". */
function readOfService(text: string, keys: ReadonlyMap<string, TrustedKey>): object | string {
  try {
    const { document, isSignedBy } = readSigned(Buffer.from(text))
    const time = String(document['issued_at'])
    return findSignatureProblem({ key_id: document.key_id, time, isSignedBy }, keys) ?? document
  } catch (error) {
    if (error instanceof SyntaxError) return error.message
    throw error
  }
}

export interface PurgeProof extends PurgeSeen {
  readonly fault: string | null
}

/** Purged: listed by a certificate that one of `keys` signed. */
export async function findPurged(
  ask: AskForPurge,
  receipt: ErasureReceipt,
  keys: ReadonlyMap<string, TrustedKey>,
  ids: readonly string[] = receipt.records.map(({ id }) => id),
): Promise<PurgeProof> {
  const states = new Map<string, string>()
  const proven = new Set<string>()
  const certificates: string[] = []
  for (let start = 0; start < ids.length; start += erasedRecordsLimit) {
    const answer = await ask(ids.slice(start, start + erasedRecordsLimit))
    for (const { id, state } of answer.records) states.set(id, state)
    const named = readNamed(answer, receipt, keys)
    if (typeof named === 'string') return { fault: named, certificates, purged: [], others: ids, unknown: [] }
    for (const id of named) proven.add(id)
    if (answer.certificate !== null) certificates.push(answer.certificate)
  }
  return {
    fault: null,
    certificates,
    purged: ids.filter(id => proven.has(id)),
    others: ids.filter(id => !proven.has(id) && states.has(id)),
    unknown: ids.filter(id => !proven.has(id) && !states.has(id)),
  }
}

/** Returns the listed ids, or the problem. */
function readNamed(
  { certificate }: PurgeAnswer,
  { account_id }: ErasureReceipt,
  keys: ReadonlyMap<string, TrustedKey>,
): string[] | string {
  if (certificate === null) return []
  const document = readOfService(certificate, keys)
  if (typeof document === 'string') return `the certificate ${document}`
  const { data } = PurgeCertificate.safeParse(document)
  if (!data) return 'the document is not a purge certificate'
  if (account_id !== null && data.account_id !== account_id) return 'the certificate is of another account'
  return data.records.map(({ id }) => id)
}

/** Returns the receipt of the purge, possibly the given one; null if there is none. */
export async function findPurgeReceipt(store: ReceiptStore, given: Erased): Promise<Erased | null> {
  if (given.receipt.purge) return given
  const digest = sha256(given.bytes)
  for await (const found of allReceipts(store))
    if ('receipt' in found && isErasure(found) && found.receipt.purge?.receipt.sha256 === digest) return found
  return null
}

/**
 * Appends the erasure's receipt again with the purge certificates.
 * @throws CliError (exit 5) unless they name every deleted record
 */
export async function makePurgeReceipt(
  { store, key, who, host }: Signer,
  { receipt: erasure, bytes }: Erased,
  certificates: readonly string[],
): Promise<Erased> {
  const finished_at = new Date().toISOString()
  const statement = describePurge(deletedIds(erasure), certificates)
  if (statement === null)
    throw dataError(
      'the certificates do not name every record: nothing is signed',
      'report this to the operator of the instance',
    )
  return await appendReceipt(store, erasure.job, (number, previous) => {
    const { purge: _, ...repeated } = erasure
    const receipt: ErasureReceipt = {
      ...repeated,
      statement,
      key_id: key.id,
      number,
      previous,
      purge: {
        receipt: { number: erasure.number, sha256: sha256(bytes) },
        ...{ finished_at, who, host },
        certificates: [...certificates],
      },
    }
    return signDocument(receipt, key.key)
  })
}
