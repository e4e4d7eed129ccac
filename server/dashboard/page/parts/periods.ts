export const periods = ['day', 'week', 'month'] as const
export type Period = (typeof periods)[number]

const longest = 4000

/**
 * Returns all days, Mondays or months from the first group to the last. Returns `groups` if there are more than `longest`, or if
 * one is not a date of the sequence.
 */
export function fillPeriods(by: Period, groups: readonly string[]): readonly string[] {
  const [first, last] = [groups[0], groups.at(-1)]
  if (first === undefined || last === undefined || !groups.every(isDate)) return groups
  const filled: string[] = []
  for (let at = first; at <= last; at = next(by, at)) {
    if (filled.length === longest) return groups
    filled.push(at)
  }
  const all = new Set(filled)
  return groups.every(group => all.has(group)) ? filled : groups
}

function isDate(group: string): boolean {
  return /^\d{4}-\d{2}(-\d{2})?$/.test(group)
}

function next(by: Period, at: string): string {
  const [year = 0, month = 1, day = 1] = at.split('-').map(Number)
  if (by === 'month') return text(year, month, 1).slice(0, 7)
  return text(year, month - 1, day + (by === 'week' ? 7 : 1))
}

/** Carries over days and months that are out of range. */
function text(year: number, monthIndex: number, day: number): string {
  return new Date(Date.UTC(year, monthIndex, day)).toISOString().slice(0, 10)
}
