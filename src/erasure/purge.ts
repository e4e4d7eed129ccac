import type { Client } from '../client/client.ts'
import type { AnyErasureReceipt } from '../contract/documents/erasure-receipt.ts'
import { PurgeCertificate } from '../contract/documents/purge-certificate.ts'
import { erasedRecordsLimit, type PurgeAnswer, subjects } from '../contract/subjects.ts'
import type { TrustedKey } from '../evidence/key-chain.ts'
import type { PurgeSeen } from './sentences.ts'
import { readOfService } from './verify.ts'

export interface PurgeProof extends PurgeSeen {
  /** The fault of a certificate; null if none has one. */
  readonly fault: string | null
  /** The texts of the service's certificates, one after the other. */
  readonly certificates: string
}

/** Asks the service which records of a receipt are purged. Only what a certificate names, signed by one of `keys`, counts. */
export async function findPurged(
  api: Client,
  receipt: AnyErasureReceipt,
  keys: ReadonlyMap<string, TrustedKey>,
): Promise<PurgeProof> {
  const ids = receipt.records.map(({ id }) => id)
  const states = new Map<string, string>()
  const proven = new Set<string>()
  let certificates = ''
  for (let start = 0; start < ids.length; start += erasedRecordsLimit) {
    const answer = await api.call(subjects.certifyPurge, {
      body: { ids: ids.slice(start, start + erasedRecordsLimit) },
      isIdempotent: true,
    })
    for (const { id, state } of answer.records) states.set(id, state)
    const named = readNamed(answer, receipt, keys)
    if (typeof named === 'string') return { fault: named, certificates, purged: [], others: ids, unknown: [] }
    for (const id of named) proven.add(id)
    certificates += answer.certificate ?? ''
  }
  return {
    fault: null,
    certificates,
    purged: ids.filter(id => proven.has(id)),
    others: ids.filter(id => !proven.has(id) && states.has(id)),
    unknown: ids.filter(id => !proven.has(id) && !states.has(id)),
  }
}

/** Returns the ids that the certificate of an answer names, or what is wrong with it. */
function readNamed(
  { certificate }: PurgeAnswer,
  { account_id }: AnyErasureReceipt,
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
