import { deletedIds, describePurge } from '../contract/documents/deletion-statement.ts'
import type { ErasureReceipt } from '../contract/documents/erasure-receipt.ts'
import { dataError } from '../errors/errors.ts'
import { signDocument } from '../evidence/signed.ts'
import type { Signer } from '../receipts/signer.ts'
import { type ReceiptStore, sha256 } from '../receipts/store.ts'
import { allReceipts, appendReceipt, type StoredReceipt } from './receipts.ts'

/** May be the given one; null if there is none. */
export async function findPurgeReceipt(store: ReceiptStore, given: StoredReceipt): Promise<StoredReceipt | null> {
  if (given.receipt.purge) return given
  const digest = sha256(given.bytes)
  for await (const found of allReceipts(store))
    if ('receipt' in found && found.receipt.purge?.receipt.sha256 === digest) return found
  return null
}

/**
 * Appends the erasure's receipt again with the purge certificates.
 * @throws CliError (exit 5) unless they name every deleted record
 */
export async function makePurgeReceipt(
  { store, key, who, host }: Signer,
  { receipt: erasure, bytes }: StoredReceipt,
  certificates: readonly string[],
): Promise<StoredReceipt> {
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
