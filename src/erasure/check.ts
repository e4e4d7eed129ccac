import type { KeyObject } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { ErasureReceipt } from '../contract/documents/erasure-receipt.ts'
import { keyIdOf } from '../evidence/keys.ts'
import { type Head, headFault } from './head.ts'
import type { ReceiptKey } from './keys.ts'
import { numbersIn, pathOf, readReceipt, type StoredReceipt, sha256 } from './receipts.ts'

/** Whether a receipt is signed by one of these keys: null where it names none of them. */
export function isSigned({ claimed, receipt }: StoredReceipt, keys: readonly KeyObject[]): boolean | null {
  const key = keys.find(each => keyIdOf(each) === receipt.key_id)
  return key ? claimed.isSignedBy(key) : null
}

/** Whether a receipt is about a data subject; null where only the private key could tell, and this is not it. */
export function isAbout(receipt: ErasureReceipt, subject: string, key: ReceiptKey | null): boolean | null {
  if (receipt.subjects) return receipt.subjects.includes(subject)
  return key?.id === receipt.key_id ? receipt.subject_hmacs.includes(key.hmacOf(subject)) : null
}

/**
 * What is wrong with the chain of receipts in a folder, and with the place of one of them in it; null where nothing is.
 * Every receipt counts, those after it too: each is signed, has the number of its file, and names the digest of the one
 * before it. The newest that is known to have been made is among them.
 */
export async function chainFault(
  folder: string,
  { bytes, receipt }: StoredReceipt,
  keys: readonly KeyObject[],
  head: Head | null,
): Promise<string | null> {
  const numbers = await numbersIn(folder)
  let before: string | null = null
  for (const [index, number] of numbers.entries()) {
    if (number !== index + 1) return `receipt ${index + 1} is missing`
    const content = await readFile(pathOf(folder, number))
    const fault = faultOf(content, number, before, keys)
    if (fault) return fault
    if (number === receipt.number && !content.equals(bytes))
      return `there is another receipt ${number} in the chain`
    before = sha256(content)
    const changed = head?.number === number && headFault(head, before)
    if (changed) return changed
  }
  if (head && !numbers.includes(head.number)) return headFault(head, null)
  return numbers.includes(receipt.number) ? null : `receipt ${receipt.number} is not in the chain`
}

function faultOf(
  content: Buffer,
  number: number,
  before: string | null,
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
  if (signed === false) return `the signature of receipt ${number} is not valid`
  if (signed === null) return `receipt ${number} is signed by another key, ${receipt.key_id}`
  const isLinked =
    before === null
      ? receipt.previous === null
      : receipt.previous?.sha256 === before && receipt.previous.number === number - 1
  return isLinked ? null : `receipt ${number} does not follow the one before it as that is now`
}
