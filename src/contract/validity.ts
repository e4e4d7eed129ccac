const duration = /^P(?:(\d{1,4})W|(?=\d)(?:(\d{1,3})Y)?(?:(\d{1,4})M)?(?:(\d{1,5})D)?)$/

/** Calendar months are added before days. */
export interface Validity {
  readonly months: number
  readonly days: number
}

/** ISO 8601 duration of years, months and days, or of weeks. Null for others, zero, and over 100 years. */
export function parseValidity(value: string): Validity | null {
  const [match, weeks = 0, years = 0, ownMonths = 0, ownDays = 0] = duration.exec(value) ?? []
  const months = Number(years) * 12 + Number(ownMonths)
  const days = Number(weeks) * 7 + Number(ownDays)
  const total = months * 30.4375 + days
  return match !== undefined && total > 0 && total <= 36_525 ? { months, days } : null
}

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
