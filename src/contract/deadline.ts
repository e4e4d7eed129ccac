/** Days as `2026-12-24`, or `12-25` for every year. */
export type Holidays = readonly string[]

/**
 * Returns the last day (`2026-01-31`) to answer: one month after receipt, or three if extended (GDPR Art. 12(3)).
 * Regulation (EEC, Euratom) No 1182/71 Art. 3: the same date or that month's end, moved to the next working day.
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

/** `Date.UTC` maps the years 0 to 99 to 1900 to 1999. */
function dayOf(year: number, month: number, date: number): Date {
  const day = new Date(0)
  day.setUTCFullYear(year, month, date)
  return day
}

function format(day: Date): string {
  return day.toISOString().slice(0, 10)
}
