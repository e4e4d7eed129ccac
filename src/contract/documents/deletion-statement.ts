import { parseInstant } from '../instant.ts'
import type { ErasureReceipt } from './erasure-receipt.ts'

/** `purgeAfterDays`: null is never, undefined unknown. `isSealed`: sites of the records keep sealed proofs. */
export function describeDeletion(purgeAfterDays: number | null | undefined, isSealed = false): string {
  return `${describePurgeAfter(purgeAfterDays)}${isSealed ? ', but for sealed proofs' : ''}`
}

function describePurgeAfter(purgeAfterDays: number | null | undefined): string {
  if (purgeAfterDays === undefined) return 'logically deleted; whether and when personal data is purged is not known'
  if (purgeAfterDays === null) return 'logically deleted; personal data is kept until it is purged by hand'
  return `logically deleted; personal data to be purged after ${purgeAfterDays} ${purgeAfterDays === 1 ? 'day' : 'days'}`
}

export function deletedIds({
  records,
}: {
  readonly records: readonly { readonly id: string; readonly result: string }[]
}): string[] {
  return records.filter(({ result }) => result === 'deleted').map(({ id }) => id)
}

interface ErasureSeen {
  readonly found: number
  readonly live: number
  /** Null if not shown. */
  readonly deleted: number | null
  readonly sealed_proofs?: readonly unknown[] | undefined
}

export function erasureResult({ found, live, deleted, sealed_proofs = [] }: ErasureSeen): ErasureReceipt['result'] {
  if (live > 0) return 'remaining'
  if (found > 0) return 'erased'
  if ((deleted ?? 0) > 0) return 'nothing_live'
  return sealed_proofs.length > 0 ? 'proofs_kept' : 'no_data_held'
}

/** States the purge of these records with the time of the last one; null unless the certificates list each. */
export function describePurge(ids: readonly string[], certificates: readonly string[]): string | null {
  const latestLast = certificates.flatMap(readPurged).sort(([, one], [, other]) => (one.at < other.at ? -1 : 1))
  const purges = new Map(latestLast)
  const found = ids.flatMap(id => purges.get(id) ?? [])
  if (found.length < ids.length || ids.length === 0) return null
  const last = latest(found.map(({ at }) => at))
  const kept = describeKept(ids, certificates)
  const count = `${ids.length} ${ids.length === 1 ? 'record' : 'records'}`
  return `personal data of ${count} purged by ${last}${kept}, certified by the service; what is left is pseudonymous; backups, write-ahead logs and free space of the database are not covered`
}

export const orLonger = 'or longer while a legal hold stands'

/** Empty if the certificates name no sealed proof of these records. */
export function describeKept(ids: readonly string[], certificates: readonly string[]): string {
  const purges = new Map(certificates.flatMap(readPurged))
  const ends = ids.flatMap(id => purges.get(id)?.until ?? [])
  if (ends.length === 0) return ''
  return `, but for ${ends.length} sealed ${ends.length === 1 ? 'proof' : 'proofs'} until ${latest(ends)}, ${orLonger}`
}

interface Purge {
  readonly at: string
  /** When its sealed proof ends; null without one. */
  readonly until: string | null
}

/** Without a schema, because the dashboard cannot load schemas. */
function readPurged(certificate: string): [id: string, purge: Purge][] {
  try {
    const { records } = JSON.parse(certificate) as { records: unknown[] }
    return records.map(record => {
      const { id, purged_at: at, sealed } = record as Readonly<Record<string, unknown>>
      const until = sealed === undefined ? null : Object(sealed).until
      if (typeof id !== 'string' || !isInstant(at) || !(until === null || isInstant(until))) throw new TypeError()
      return [id, { at, until }]
    })
  } catch {
    return [] // receipts may hold any text
  }
}

function latest(instants: readonly string[]): string {
  return [...instants].sort().at(-1) ?? ''
}

function isInstant(text: unknown): text is string {
  return typeof text === 'string' && /^.{19}\.\d{3}Z$/.test(text) && parseInstant(text) !== null
}
