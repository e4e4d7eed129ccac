import type { KeyObject } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import * as z from 'zod'
import { deletedIds } from '../contract/documents/deletion-statement.ts'
import type { AnyErasureReceipt } from '../contract/documents/erasure-receipt.ts'
import { findSignatureProblem, type TrustedKey } from '../evidence/key-chain.ts'
import { keyIdOf } from '../evidence/keys.ts'
import { readSigned } from '../evidence/signed.ts'
import { type ChainHead, findHeadFault, listNumbers, receiptPath } from '../receipts/chain.ts'
import type { ReceiptKey } from '../receipts/keys.ts'
import { type ReceiptStore, sha256 } from '../receipts/store.ts'
import { readReceipt, type StoredReceipt } from './receipts.ts'

/** Returns null if none of these keys is the receipt's. */
export function isSigned({ claimed, receipt }: StoredReceipt, keys: readonly KeyObject[]): boolean | null {
  const key = keys.find(each => keyIdOf(each) === receipt.key_id)
  return key ? claimed.isSignedBy(key) : null
}

/** Returns null if only another private key could tell. */
export function isAbout(receipt: AnyErasureReceipt, subject: string, key: ReceiptKey | null): boolean | null {
  if (receipt.subjects) return receipt.subjects.includes(subject)
  return key?.id === receipt.key_id ? receipt.subject_hmacs.includes(key.hmacOf(subject)) : null
}

/**
 * Checks the profile's chain and a receipt's place in it. Each receipt must be signed, have the number of its file,
 * and name the previous one's digest; the chain must contain the head. Returns what is wrong, or null.
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

/** Other services may add fields. Version 1 names neither the request nor the records. */
const Certificate = z.object({
  type: z.literal('erasure_certificate'),
  ticket: z.string().nullable(),
  erased: z.int().min(0),
  account_id: z.string().optional(),
  subject_hmac: z.string().optional(),
  request_id: z.string().optional(),
  records: z.array(z.object({ id: z.string() })).optional(),
  unverified: z.array(z.string()).default([]),
})
type Certificate = z.output<typeof Certificate>

interface Certified {
  readonly fault: string | null
  /** Certificates tied to the receipt only by ticket and count. */
  readonly unnamed: number
}

/**
 * Checks a receipt's certificates: a published key must have signed each, for the receipt's account. One that names
 * records must name exactly those that its request deleted; one that only counts must be for the receipt's ticket.
 * `subjectHmac` is the service's HMAC of the receipt's only subject; null if not known.
 */
export function verifyCertificates(
  receipt: AnyErasureReceipt,
  keys: ReadonlyMap<string, TrustedKey>,
  subjectHmac: string | null,
): Certified {
  const { certificates } = receipt
  const found: Certificate[] = []
  for (const [index, text] of certificates.entries()) {
    const certificate = readCertificate(text, keys)
    const fault = typeof certificate === 'string' ? certificate : findBindingFault(certificate, receipt, subjectHmac)
    if (fault !== null) return { fault: `${index + 1} of ${certificates.length} ${fault}`, unnamed: 0 }
    found.push(certificate as Certificate)
  }
  return { fault: findCoverFault(found, receipt), unnamed: found.filter(({ records }) => !records).length }
}

function findBindingFault(
  { ticket, account_id, subject_hmac, request_id, records, erased, unverified }: Certificate,
  receipt: AnyErasureReceipt,
  subjectHmac: string | null,
): string | null {
  if (receipt.account_id !== null && account_id !== undefined && account_id !== receipt.account_id)
    return 'is of another account'
  if (subjectHmac !== null && subject_hmac !== undefined && subject_hmac !== subjectHmac)
    return 'is about another data subject'
  if (!records) return ticket === receipt.ticket ? null : 'is for another ticket'
  if (records.length !== erased) return 'contradicts itself'
  const outcomes = new Map(receipt.records.map(record => [record.id, record]))
  for (const { id } of records) {
    const outcome = outcomes.get(id)
    if (outcome?.result === 'remaining') continue
    if (outcome?.result !== 'deleted') return `names the record ${id}, which the receipt does not say was deleted`
    if (outcome.request_id !== request_id) return `names the record ${id}, which another request deleted`
  }
  return findUntold(unverified, receipt)
}

function findUntold(unverified: readonly string[], receipt: AnyErasureReceipt): string | null {
  const told = new Set(receipt.unverified)
  const untold = deletedIds(receipt).find(id => unverified.includes(id) && !told.has(id))
  return untold === undefined
    ? null
    : `says that the record ${untold} did not verify, or not in the time of the call, and the receipt does not`
}

/** Each deleted record must be certified, by id or by count, unless answers were lost. */
function findCoverFault(certificates: readonly Certificate[], receipt: AnyErasureReceipt): string | null {
  const { counts, records, answers_lost } = receipt
  const named = new Set(certificates.flatMap(({ records = [] }) => records.map(({ id }) => id)))
  const counted = sum(certificates.map(({ records, erased }) => (records ? 0 : erased)))
  const isCounted = certificates.some(certificate => !certificate.records)
  const unnamed = records.filter(({ id, result }) => result === 'deleted' && !named.has(id))
  const missing = unnamed.find(({ request_id }) => request_id !== null)
  if (!isCounted && missing) return `none names the record ${missing.id}, which the receipt says was deleted`
  const remaining = records.filter(({ id, result }) => result === 'remaining' && !named.has(id)).length
  // Earlier versions counted the service's erasures in `deleted_in_bulk`.
  const [least, most] =
    counts.deleted_in_bulk > 0
      ? [counts.deleted_in_bulk, counts.deleted_in_bulk]
      : [answers_lost > 0 ? 0 : unnamed.length, unnamed.length + remaining]
  if (!isCounted || (counted >= least && counted <= most)) return null
  const is = counted === 1 ? 'record' : 'records'
  return `they count ${counted} ${is}, and the receipt ${unnamed.length + counts.deleted_in_bulk}`
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}

function readCertificate(text: string, keys: ReadonlyMap<string, TrustedKey>): Certificate | string {
  const document = readOfService(text, keys)
  if (typeof document === 'string') return document
  return Certificate.safeParse(document).data ?? 'is not an erasure certificate'
}

/** Returns a document signed by the service, or what is wrong: completes "the document …". */
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
