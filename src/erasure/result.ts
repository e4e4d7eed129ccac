import { deletedIds, describeDeletion } from '../contract/documents/deletion-statement.ts'
import type { ErasureReceipt } from '../contract/documents/erasure-receipt.ts'
import { choose } from '../receipts/sentence.ts'
import { resultSentences } from './sentences.ts'
import type { ErasureState } from './state.ts'

type Verification = ErasureReceipt['verification']
type Site = ErasureReceipt['sites'][number]

export type ErasureOutcome = Pick<
  ErasureReceipt,
  'result' | 'statement' | 'counts' | 'sites' | 'records' | 'unverified'
>

export function toOutcome(state: ErasureState, verification: Verification): ErasureOutcome {
  const records = toRecords(state, verification)
  const sites = countSites(records)
  const counts = addUp(sites)
  const deleted = deletedIds({ records })
  const unverified = deleted.filter(id => state.unverified.has(id))
  return {
    result: choose(resultSentences, { found: state.targets.size, ...verification }),
    statement: deleted.length === unverified.length ? null : describeDeletion(findPurgeDelay(state.certificates)),
    counts,
    sites,
    records,
    unverified,
  }
}

/** Days; undefined if not stated by the newest certificate. */
function findPurgeDelay(certificates: readonly string[]): number | null | undefined {
  try {
    const days: unknown = Object(JSON.parse(certificates.at(-1) ?? '{}')).purge_after_days
    return days === null || (Number.isSafeInteger(days) && (days as number) >= 0) ? (days as number | null) : undefined
  } catch {
    return undefined // the deletion needs its receipt, whatever the certificate
  }
}

/** A record still listed is `remaining`, whatever its deletion returned. */
function toRecords({ targets, done }: ErasureState, { remaining }: Verification): ErasureReceipt['records'] {
  const listed = new Set(remaining.map(({ id }) => id))
  return [...targets.keys()].map(id => {
    const record = done.get(id)
    if (record === undefined) throw new Error(`the outcome of the record ${id} is unknown: nothing is signed`)
    if (listed.has(id)) return { ...record, result: 'remaining', deleted_at: null, deleted_at_by: null }
    return record
  })
}

const noRecords = { deleted: 0, already_gone: 0, unknown: 0 }

function countSites(records: ErasureReceipt['records']): Site[] {
  const sites = new Map<string | null, Site>()
  for (const { site_id, result } of records) {
    if (result === 'remaining') continue
    const site = sites.get(site_id) ?? { site_id, ...noRecords }
    site[result] += 1
    sites.set(site_id, site)
  }
  return [...sites.values()]
}

function addUp(sites: readonly Site[]): ErasureReceipt['counts'] {
  const counts = { ...noRecords }
  for (const site of sites)
    for (const name of Object.keys(noRecords) as (keyof typeof noRecords)[]) counts[name] += site[name]
  return counts
}
