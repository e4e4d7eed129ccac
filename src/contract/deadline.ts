/** Days as `2026-12-24`, and `12-25` for that day of every year. */
export type Holidays = readonly string[]

/**
 * Returns the last day to answer a request, both as `2026-01-31` (GDPR Art. 12(3): one month after it was received, and two
 * further months if it is extended). By Regulation (EEC, Euratom) No 1182/71 Art. 3 the period begins on the day after, ends
 * with the same date of the last month or with the end of that month, and if that is a Saturday, a Sunday or one of the
 * holidays, with the following working day.
 */
export function dueAfter(received: string, months: 1 | 3 = 1, holidays: Holidays = []): string {
  const [year = 0, month = 0, date = 0] = received.split('-').map(Number)
  const lastDate = dayOf(year, month + months, 0).getUTCDate()
  const due = dayOf(year, month - 1 + months, Math.min(date, lastDate))
  while (!isWorkingDay(due, holidays)) due.setUTCDate(due.getUTCDate() + 1)
  return format(due)
}

function isWorkingDay(day: Date, holidays: Holidays): boolean {
  const text = format(day)
  const isWeekend = day.getUTCDay() % 6 === 0
  return !isWeekend && !holidays.includes(text) && !holidays.includes(text.slice(5))
}

/** `Date.UTC` would take the years before 100 for those of the 20th century. */
function dayOf(year: number, month: number, date: number): Date {
  const day = new Date(0)
  day.setUTCFullYear(year, month, date)
  return day
}

function format(day: Date): string {
  return day.toISOString().slice(0, 10)
}
