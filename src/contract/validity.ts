import { parseValidity } from './notices.ts'

/** Adds calendar months in UTC, at most to a shorter month's last day, then days. */
export function endOfConsent(at: Date, validFor: string | null): Date | null {
  const validity = validFor === null ? null : parseValidity(validFor)
  if (!validity) return null
  const end = new Date(at)
  end.setUTCMonth(end.getUTCMonth() + validity.months)
  if (end.getUTCDate() !== at.getUTCDate()) end.setUTCDate(0)
  end.setUTCDate(end.getUTCDate() + validity.days)
  return end
}
