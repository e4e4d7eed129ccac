import type { KeyObject } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import * as z from 'zod'
import type { ErasureReceipt } from '../contract/documents/erasure-receipt.ts'
import { findSignatureProblem, type TrustedKey } from '../evidence/key-chain.ts'
import { keyIdOf } from '../evidence/keys.ts'
import { readSigned } from '../evidence/signed.ts'
import {
  type ChainHead,
  findHeadFault,
  listNumbers,
  type ReceiptStore,
  receiptPath,
  sha256,
} from '../receipts/store.ts'
import { readReceipt, type StoredReceipt } from './receipts.ts'

/** Null if none of the keys is the receipt's. */
export function isSigned({ claimed, receipt }: StoredReceipt, keys: readonly KeyObject[]): boolean | null {
  const key = keys.find(each => keyIdOf(each) === receipt.key_id)
  return key ? claimed.isSignedBy(key) : null
}

/**
 * Returns the first fault of the profile's chain, or null: each receipt must be signed, have its file's number, and
 * name the previous digest; the chain must contain the head.
 */
export async function findChainFault(
  store: ReceiptStore,
  { bytes, receipt }: StoredReceipt,
  keys: readonly KeyObject[],
  head: ChainHead | null,
): Promise<string | null> {
  const numbers = await listNumbers(store)
  let previous: string | null = null
  for (const [index, number] of numbers.entries()) {
    if (number !== index + 1) return `receipt ${index + 1} is missing`
    const content = await readFile(receiptPath(store, number))
    const fault = findLinkFault(content, number, previous, keys)
    if (fault) return fault
    if (number === receipt.number && !content.equals(bytes)) return `the chain has another receipt ${number}`
    previous = sha256(content)
    const changed = head?.number === number && findHeadFault(head, previous)
    if (changed) return changed
  }
  if (head && !numbers.includes(head.number)) return findHeadFault(head, null)
  return numbers.includes(receipt.number) ? null : `receipt ${receipt.number} is not in the chain`
}

function findLinkFault(
  content: Buffer,
  number: number,
  previous: string | null,
  keys: readonly KeyObject[],
): string | null {
  let stored: StoredReceipt
  try {
    stored = readReceipt(`receipt ${number}`, content)
  } catch (error) {
    return (error as Error).message
  }
  const { receipt } = stored
  if (receipt.number !== number) return `the file of receipt ${number} holds receipt ${receipt.number}`
  const signed = isSigned(stored, keys)
  if (signed === false) return `the signature of receipt ${number} is invalid`
  if (signed === null) return `receipt ${number} is signed by another key, ${receipt.key_id}`
  const isLinked =
    previous === null
      ? receipt.previous === null
      : receipt.previous?.sha256 === previous && receipt.previous.number === number - 1
  return isLinked ? null : `receipt ${number} does not follow the one before it`
}

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

/** Each deleted record must be named, unless its response was lost. */
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
export function readOfService(text: string, keys: ReadonlyMap<string, TrustedKey>): object | string {
  try {
    const { document, isSignedBy } = readSigned(Buffer.from(text))
    const time = String(document['issued_at'])
    return findSignatureProblem({ key_id: document.key_id, time, isSignedBy }, keys) ?? document
  } catch (error) {
    if (error instanceof SyntaxError) return error.message
    throw error
  }
}
