import type { ErasureReceipt } from '../contract/documents/erasure-receipt.ts'
import { PurgeCertificate } from '../contract/documents/purge-certificate.ts'
import { erasedRecordsLimit, type PurgeAnswer } from '../contract/subjects.ts'
import type { TrustedKey } from '../evidence/key-chain.ts'
import type { Ask } from './purge-calls.ts'
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
