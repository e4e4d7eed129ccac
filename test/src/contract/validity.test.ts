import { expect, it } from 'vitest'
import { endOfConsent } from '../../../src/contract/validity.ts'

it.each([
  ['2026-01-31T09:30:00.123Z', 'P1M', '2026-02-28T09:30:00.123Z'],
  ['2024-02-29T00:00:00.000Z', 'P1Y', '2025-02-28T00:00:00.000Z'],
  ['2026-11-22T23:59:59.999Z', 'P1Y2M10D', '2028-02-01T23:59:59.999Z'],
  ['2026-12-31T12:00:00.000Z', 'P2W', '2027-01-14T12:00:00.000Z'],
  ['2026-03-31T12:00:00.000Z', 'P1M1D', '2026-05-01T12:00:00.000Z'],
  ['2026-03-31T12:00:00.000Z', null, undefined],
])('a consent of %s to a notice valid for %s ends at %s', (at, validFor, end) => {
  expect(endOfConsent(new Date(at), validFor)?.toISOString()).toBe(end)
})
