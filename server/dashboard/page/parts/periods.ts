export const periods = ['day', 'week', 'month'] as const
export type Period = (typeof periods)[number]

/** Returns all days, Mondays or months from the first to the last. */
export function periodsBetween(by: Period, first: string, last: string): string[] {
  const all: string[] = []
  for (let at = first; at <= last; at = following(by, at)) all.push(at)
  return all
}

function following(by: Period, at: string): string {
  const date = new Date(at)
  if (by === 'month') date.setUTCMonth(date.getUTCMonth() + 1)
  else date.setUTCDate(date.getUTCDate() + (by === 'week' ? 7 : 1))
  return date.toISOString().slice(0, at.length)
}
