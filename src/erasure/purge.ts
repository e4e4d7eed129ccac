import { deletedIds, describePurge } from '../contract/documents/deletion-statement.ts'
import type { ErasureReceipt } from '../contract/documents/erasure-receipt.ts'
import { PurgeCertificate } from '../contract/documents/purge-certificate.ts'
import { erasedRecordsLimit, type PurgeAnswer } from '../contract/subjects.ts'
import { dataError } from '../errors/errors.ts'
import type { TrustedKey } from '../evidence/key-chain.ts'
import { signDocument } from '../evidence/signed.ts'
import type { Signer } from '../receipts/signer.ts'
import { type ReceiptStore, sha256 } from '../receipts/store.ts'
import type { Ask } from './purge-calls.ts'
import { allReceipts, appendReceipt, type StoredReceipt } from './receipts.ts'
import type { PurgeSeen } from './sentences.ts'
import { readOfService } from './verify.ts'

export interface PurgeProof extends PurgeSeen {
  readonly fault: string | null
  readonly certificates: readonly string[]
}

/** Purged: named by a certificate that one of `keys` signed. */
export async function findPurged(
  ask: Ask,
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

/** Returns the named ids, or the problem. */
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
