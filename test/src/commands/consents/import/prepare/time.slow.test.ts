import { describe, expect, it } from 'vitest'
import { timeReader } from '../../../../../../src/commands/consents/import/prepare/time.ts'

function read(text: string, format: string, zone?: string, repeatedHour: 'refuse' | 'earlier' | 'later' = 'refuse') {
  const at = timeReader({ formats: [format], zone, repeatedHour })(text)
  return typeof at === 'number' ? new Date(at).toISOString() : at.problem
}

describe('timeReader', () => {
  it.each([
    ['rfc3339', '2024-03-01T10:00:00.5+02:00', '2024-03-01T08:00:00.500Z'],
    ['epoch_s', '1709280000', '2024-03-01T08:00:00.000Z'],
    ['epoch_s', '1709280000.25', '2024-03-01T08:00:00.250Z'],
    ['epoch_ms', '1709280000123', '2024-03-01T08:00:00.123Z'],
    ['YYYY-MM-DDTHH:mmZ', '2024-03-01T09:00+01:00', '2024-03-01T08:00:00.000Z'],
    ['YYYY-MM-DD HH:mm:ss Z', '2024-03-01 08:00:00 UTC', '2024-03-01T08:00:00.000Z'],
    ['YYYY-MM-DD HH:mm:ssZ', '2024-03-01 08:00:00.123456+0130', '2024-03-01T06:30:00.123Z'],
    ['D MMM YYYY h:mm A Z', '1 Mar 2024 12:05 AM GMT', '2024-03-01T00:05:00.000Z'],
  ])('reads %s', (format, text, expected) => {
    expect(read(text, format)).toBe(expected)
  })

  it('distinguishes milliseconds from seconds if the map allows both', () => {
    const both = timeReader({ formats: ['epoch_s', 'epoch_ms'], zone: undefined, repeatedHour: 'refuse' })
    expect([both('1709280000'), both('1709280000123'), both('631152000000')]).toEqual([
      1_709_280_000_000, 1_709_280_000_123, 631_152_000_000,
    ])
  })

  it.each([
    ['in winter', '2024-01-15 12:00:00', '2024-01-15T11:00:00.000Z'],
    ['in summer', '2024-07-15 12:00:00', '2024-07-15T10:00:00.000Z'],
    ['on the day of a change, before it', '2024-03-31 01:59:59', '2024-03-31T00:59:59.000Z'],
    ['on the day of a change, after it', '2024-03-31 03:00:00', '2024-03-31T01:00:00.000Z'],
    ['after a repeated hour', '2024-10-27 03:00:00', '2024-10-27T02:00:00.000Z'],
    ['before a repeated hour', '2024-10-27 01:59:59', '2024-10-26T23:59:59.000Z'],
  ])('reads Berlin local time %s', (_, text, expected) => {
    expect(read(text, 'YYYY-MM-DD HH:mm:ss', 'Europe/Berlin')).toBe(expected)
  })

  it('rejects a local time skipped by daylight saving', () => {
    expect(read('2024-03-31 02:30:00', 'YYYY-MM-DD HH:mm:ss', 'Europe/Berlin', 'earlier')).toContain('set forward')
  })

  it('rejects an ambiguous local time, unless the map decides', () => {
    const at = (repeated: 'refuse' | 'earlier' | 'later') =>
      read('2024-10-27 02:30:00', 'YYYY-MM-DD HH:mm:ss', 'Europe/Berlin', repeated)
    expect(at('refuse')).toContain('set back')
    expect([at('earlier'), at('later')]).toEqual(['2024-10-27T00:30:00.000Z', '2024-10-27T01:30:00.000Z'])
  })

  it('agrees with Intl at every hour of a year', () => {
    for (const zone of ['America/St_Johns', 'Australia/Lord_Howe', 'Africa/Casablanca']) {
      const toInstant = timeReader({ formats: ['YYYY-MM-DD HH:mm:ss'], zone, repeatedHour: 'refuse' })
      const clock = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'medium' })
      let known = 0
      for (let at = Date.UTC(2024, 0, 1); at < Date.UTC(2025, 0, 1); at += 3_600_000) {
        const instant = toInstant(clock.format(at))
        if (typeof instant !== 'number') continue
        expect(instant).toBe(at)
        known += 1
      }
      expect(known).toBeGreaterThan(8778)
    }
  })

  it.each([
    ['2024-02-30 10:00:00', 'YYYY-MM-DD HH:mm:ss'],
    ['2024-01-01 24:00:00', 'YYYY-MM-DD HH:mm:ss'],
    ['13:00 PM 2024-01-01', 'hh:mm A YYYY-MM-DD'],
    ['-5', 'epoch_s'],
    ['1e9', 'epoch_s'],
  ])('rejects %s', (text, format) => {
    expect(read(text, format, 'UTC')).toContain('is not a time')
  })

  it('requires an IANA zone for local times', () => {
    expect(() => read('', 'YYYY-MM-DD HH:mm')).toThrow('have no time zone')
    expect(() => read('', 'YYYY-MM-DD HH:mm', 'Europe/Nowhere')).toThrow('unknown time zone')
    expect(() => read('', 'YYYY-MM-DD HH:mm', '+02:00')).toThrow('unknown time zone')
  })

  it('rejects a pattern without a full date and time', () => {
    expect(() => read('', 'YYYY-MM-DD', 'UTC')).toThrow('no year, month, day, hour or minute')
    expect(() => read('', 'YYYY-MM-DD HH:mm MM', 'UTC')).toThrow('repeats')
    expect(() => read('', 'YYYY-MM-DD hh:mm', 'UTC')).toThrow('together')
    expect(() => read('', 'DD/MM/YYYY HH:mmXXX')).toThrow('unknown letters: XXX')
  })
})
