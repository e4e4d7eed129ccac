/** The first day of an instant's calendar month in UTC, as `2026-11-01`: the month a unit is counted in. */
export function monthOf(instant: Date): string {
  return `${instant.toISOString().slice(0, 7)}-01`
}

/** When the month after an instant's begins, in seconds since 1970. */
export function resetOf(instant: Date): number {
  return Date.UTC(instant.getUTCFullYear(), instant.getUTCMonth() + 1, 1) / 1000
}

/** The headers of an answer to an API key; none where the account has no limit. */
export function quotaHeaders(limit: number | null, used: number, now: Date): Record<string, string> {
  if (limit === null) return {}
  return {
    'x-quota-limit': String(limit),
    'x-quota-remaining': String(Math.max(0, limit - used)),
    'x-quota-reset': String(resetOf(now)),
  }
}
