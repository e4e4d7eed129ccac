import { parseInstant } from '../instant.ts'
import type { ErasureReceipt } from './erasure-receipt.ts'

/** `purgeAfterDays`: null is never, undefined unknown. */
export function describeDeletion(purgeAfterDays: number | null | undefined): string {
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
}

export function erasureResult({ found, live, deleted }: ErasureSeen): ErasureReceipt['result'] {
  if (live > 0) return 'remaining'
  if (found > 0) return 'erased'
  return (deleted ?? 0) > 0 ? 'nothing_live' : 'no_data_held'
}

/** States the purge of these records with the time of the last one; null unless the certificates list each. */
export function describePurge(ids: readonly string[], certificates: readonly string[]): string | null {
  const latestLast = certificates.flatMap(readPurged).sort(([, one], [, other]) => (one < other ? -1 : 1))
  const times = new Map(latestLast)
  const last = ids.map(id => times.get(id) ?? '').sort()
  if (!last[0]) return null
  const count = `${ids.length} ${ids.length === 1 ? 'record' : 'records'}`
  return `personal data of ${count} purged by ${last.at(-1)}, certified by the service; what is left is pseudonymous; backups, write-ahead logs and free space of the database are not covered`
}

/** Without a schema, because the dashboard cannot load schemas. */
function readPurged(certificate: string): [id: string, purgedAt: string][] {
  try {
    const { records } = JSON.parse(certificate) as { records: unknown[] }
    return records.map(record => {
      const { id, purged_at } = record as Readonly<Record<string, unknown>>
      if (typeof id !== 'string' || typeof purged_at !== 'string' || !isInstant(purged_at)) throw new TypeError()
      return [id, purged_at]
    })
  } catch {
    return [] // receipts may hold any text
  }
}

function isInstant(text: string): boolean {
  return /^.{19}\.\d{3}Z$/.test(text) && parseInstant(text) !== null
}
