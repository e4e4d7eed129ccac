/**
 * The day by which a request must be answered: one month after it was received (GDPR Art. 12(3)), which is the same
 * day of the next month, or that month's last where it has no such day (Regulation 1182/71 Art. 3(2)(c)). Both as
 * `2026-01-31`. That a day off work moves it on, Art. 3(4) of the same, is left to those who know their holidays.
 */
export function dueAfter(received: string): string {
  const [year = 0, month = 0, day = 0] = received.split('-').map(Number)
  const last = new Date(Date.UTC(year, month + 1, 0)).getUTCDate()
  return new Date(Date.UTC(year, month, Math.min(day, last))).toISOString().slice(0, 10)
}
