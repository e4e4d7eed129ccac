/** `purgeAfterDays` is null for never, undefined if the service does not say. */
export function describeDeletion(purgeAfterDays: number | null | undefined): string {
  if (purgeAfterDays === undefined) return 'logically deleted; whether and when personal data is purged is not known'
  if (purgeAfterDays === null) return 'logically deleted; personal data is kept until it is purged by hand'
  return `logically deleted; personal data to be purged after ${purgeAfterDays} ${purgeAfterDays === 1 ? 'day' : 'days'}`
}
