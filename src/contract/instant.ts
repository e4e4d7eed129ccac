const rfc3339 = /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?([Zz]|[+-]\d\d:\d\d)$/

/**
 * Parses RFC 3339 into milliseconds since 1970. A finer fraction counts as half a millisecond, so that lower bounds
 * round up and upper bounds down. Null if invalid, as are `24:00`, leap seconds and the year 0000.
 */
export function parseInstant(value: string): number | null {
  if (isCanonical(value)) return Date.parse(value)
  const parts = rfc3339.exec(value)
  if (!parts || parts[1] === '0000') return null
  const [, year, month, day, hour, minute, second, fraction = '0', offset = ''] = parts
  const [zoneHour, zoneMinute] = [Number(offset.slice(1, 3)), Number(offset.slice(4, 6))]
  const lastDay = new Date(Date.UTC(Number(year) + (Number(year) < 100 ? 400 : 0), Number(month), 0)).getUTCDate()
  if (Number(month) < 1 || Number(month) > 12 || Number(day) < 1 || Number(day) > lastDay) return null
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return null
  if (zoneHour > 23 || zoneMinute > 59) return null
  const whole = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}${offset.toUpperCase()}`)
  const milliseconds = Number(fraction.padEnd(3, '0').slice(0, 3))
  return Number.isNaN(whole) ? null : whole + milliseconds + (/[1-9]/.test(fraction.slice(3)) ? 0.5 : 0)
}

/** As written by `toISOString`. */
function isCanonical(value: string): boolean {
  if (value.length !== 24 || value.startsWith('0000')) return false
  const at = Date.parse(value)
  return !Number.isNaN(at) && new Date(at).toISOString() === value
}
