import type { KeyObject } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import * as z from 'zod'
import type { AnyErasureReceipt } from '../contract/documents/erasure-receipt.ts'
import { keyIdOf } from '../evidence/keys.ts'
import { readSigned } from '../evidence/signed.ts'
import type { ReceiptKey } from './keys.ts'
import { type ChainHead, findHeadFault, listNumbers, readReceipt, receiptPath, type StoredReceipt } from './receipts.ts'
import { type ReceiptStore, sha256 } from './store.ts'

/** Returns null if the receipt names none of these keys. */
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
 * Returns what is wrong with the profile's chain of receipts, or with the place of one in it; null if nothing is. Each
 * receipt must be signed, have the number of its file, and name the digest of the one before; and the head must be among
 * them.
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
  ticket: z.string().nullable(),
  erased: z.int().min(0),
})

/**
 * Returns what is wrong with a receipt's certificates, or null: each must be signed by a published key and be for the
 * receipt's ticket, and together they must certify the records that the receipt counts.
 */
export function findCertificateFault(
  { certificates, ticket, counts, records, answers_lost }: AnyErasureReceipt,
  keys: ReadonlyMap<string, KeyObject>,
): string | null {
  let certified = 0
  for (const [index, text] of certificates.entries()) {
    const certificate = readCertificate(text, keys, ticket)
    if (typeof certificate === 'string') return `${index + 1} of ${certificates.length} ${certificate}`
    certified += certificate.erased
  }
  // Earlier versions counted what the service erased apart.
  const remaining = records.filter(({ result }) => result === 'remaining').length
  const [least, most] =
    counts.deleted_in_bulk > 0
      ? [counts.deleted_in_bulk, counts.deleted_in_bulk]
      : [answers_lost > 0 ? 0 : counts.deleted, counts.deleted + remaining]
  if (certified >= least && certified <= most) return null
  const isOne = certified === 1
  return `they count ${certified} ${isOne ? 'record' : 'records'}, and the receipt ${counts.deleted + counts.deleted_in_bulk}`
}

function readCertificate(
  text: string,
  keys: ReadonlyMap<string, KeyObject>,
  ticket: string,
): z.output<typeof Certificate> | string {
  try {
    const { document, isSignedBy } = readSigned(Buffer.from(text))
    const key = keys.get(document.key_id)
    if (!key) return `is signed by a key that the service does not publish, ${document.key_id}`
    if (!isSignedBy(key)) return 'has an invalid signature'
    const { data } = Certificate.safeParse(document)
    if (!data) return 'is not an erasure certificate'
    return data.ticket === ticket ? data : 'is for another ticket'
  } catch (error) {
    if (error instanceof SyntaxError) return error.message
    throw error
  }
}
