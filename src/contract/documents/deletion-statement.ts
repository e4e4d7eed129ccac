import * as z from 'zod'

/** `purgeAfterDays` is null for never, undefined if the service does not say. */
export function describeDeletion(purgeAfterDays: number | null | undefined): string {
  if (purgeAfterDays === undefined) return 'logically deleted; whether and when personal data is purged is not known'
  if (purgeAfterDays === null) return 'logically deleted; personal data is kept until it is purged by hand'
  return `logically deleted; personal data to be purged after ${purgeAfterDays} ${purgeAfterDays === 1 ? 'day' : 'days'}`
}

const Purged = z.object({ records: z.array(z.object({ id: z.string(), purged_at: z.iso.datetime({ precision: 3 }) })) })

/**
 * Describes the purge of these records by the certificates of the service, with the time of the last one. Returns null
 * unless they name each.
 */
export function describePurge(ids: readonly string[], certificates: readonly string[]): string | null {
  const times = new Map(certificates.flatMap(readPurged))
  const last = ids.map(id => times.get(id) ?? '').sort()
  if (!last[0]) return null
  const count = `${ids.length} ${ids.length === 1 ? 'record' : 'records'}`
  return `personal data of ${count} purged by ${last.at(-1)}, certified by the service; what is left is pseudonymous; backups, write-ahead logs and free space of the database are not covered`
}

function readPurged(certificate: string): [id: string, purgedAt: string][] {
  try {
    const { data } = Purged.safeParse(JSON.parse(certificate))
    return (data?.records ?? []).map(({ id, purged_at }) => [id, purged_at])
  } catch {
    return [] // receipts may hold any text
  }
}
