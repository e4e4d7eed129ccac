import { parseValidity } from './notices.ts'

/**
 * Returns the end of a consent stated at `at`: calendar months later in UTC, at most on the last day of a shorter month,
 * then days later.
 */
export function endOfConsent(at: Date, validFor: string | null): Date | null {
  const validity = validFor === null ? null : parseValidity(validFor)
  if (!validity) return null
  const end = new Date(at)
  end.setUTCMonth(end.getUTCMonth() + validity.months)
  if (end.getUTCDate() !== at.getUTCDate()) end.setUTCDate(0)
  end.setUTCDate(end.getUTCDate() + validity.days)
  return end
}
