import { readFile } from 'node:fs/promises'
import { type ImportAbout, ImportReceipt } from '../../../contract/documents/import-receipt.ts'
import { dataError } from '../../../errors/errors.ts'
import { readSigned, signDocument } from '../../../evidence/signed.ts'
import { appendToChain, listNumbers, receiptPath } from '../../../receipts/chain.ts'
import type { Signer } from '../../../receipts/signer.ts'
import type { ReceiptStore } from '../../../receipts/store.ts'

export interface StoredImportReceipt {
  readonly path: string
  readonly bytes: Buffer
  readonly receipt: ImportReceipt
}

/** All records are made, known or refused. */
export interface FinishedImport extends Pick<ImportReceipt, 'job' | 'site_id' | 'sent_sha256'> {
  readonly about: ImportAbout
  readonly records: ImportReceipt['records']
  readonly refused_records: ImportReceipt['refused_records']
}

/** Idempotent. @throws CliError if the chain is damaged */
export async function makeImportReceipt(signer: Signer, finished: FinishedImport): Promise<StoredImportReceipt> {
  const { store, key, instance, profile, who, host, account_id, api_key_id } = signer
  const { job, about, ...outcome } = finished
  const made = await findImportReceipt(store, job)
  if (made) return made
  const finished_at = new Date().toISOString()
  const make = (number: number, previous: ImportReceipt['previous']) => {
    const receipt: ImportReceipt = {
      type: 'import_receipt',
      version: 1,
      key_id: key.id,
      number,
      job,
      instance,
      profile,
      who,
      host,
      api_key_id,
      ...about,
      account_id: about.account_id ?? account_id,
      ...outcome,
      finished_at,
      previous,
    }
    return signDocument(receipt, key.key)
  }
  return await appendToChain(store, { job, make, read: readImportReceipt })
}

function readImportReceipt(path: string, bytes: Buffer): StoredImportReceipt {
  try {
    const { document } = readSigned(bytes)
    const { data, error } = ImportReceipt.safeParse(document)
    const issue = error?.issues[0]
    if (!data) throw new SyntaxError(`is not an import receipt (${issue?.path.join('.')}: ${issue?.message})`)
    return { path, bytes, receipt: data }
  } catch (error) {
    if (error instanceof SyntaxError) throw dataError(`${path} ${error.message}`)
    throw error
  }
}

export async function findImportReceipt(store: ReceiptStore, job: string): Promise<StoredImportReceipt | null> {
  for (const number of (await listNumbers(store)).reverse()) {
    const path = receiptPath(store, number)
    const found = readImportReceipt(path, await readFile(path))
    if (found.receipt.job === job) return found
  }
  return null
}
