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
  /** The texts of the service's certificates. */
  readonly certificates: readonly string[]
}

type Ask = (ids: readonly string[]) => Promise<PurgeAnswer>

/** Asks which records are purged. It can be repeated. */
export function askForPurged(api: Client): Ask {
  return ids => api.call(subjects.certifyPurge, { body: { ids: [...ids] }, isIdempotent: true })
}

/** Has the deleted records purged, in as many calls as it takes; one that purges nothing more is the last. */
export function orderPurge(api: Client): Ask {
  return async ids => {
    for (let left = Number.POSITIVE_INFINITY; ; ) {
      const answer = await api.call(subjects.purge, { body: { ids: [...ids] } })
      const deleted = answer.records.filter(({ state }) => state === 'deleted').length
      if (answer.complete || deleted >= left) return answer
      left = deleted
    }
  }
}

/** Returns the state of each record, by id, without changing any. */
export async function previewPurge(api: Client, ids: readonly string[]): Promise<Map<string, string>> {
  const states = new Map<string, string>()
  for (let start = 0; start < ids.length; start += erasedRecordsLimit) {
    const body = { ids: ids.slice(start, start + erasedRecordsLimit), dry_run: true }
    const { records } = await api.call(subjects.purge, { body })
    for (const { id, state } of records) states.set(id, state)
  }
  return states
}

/** Asks which of the records are purged. Only what a certificate names, signed by one of `keys`, counts. */
export async function findPurged(
  ask: Ask,
  receipt: AnyErasureReceipt,
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
