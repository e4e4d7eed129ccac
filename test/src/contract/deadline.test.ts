import { describe, expect, it } from 'vitest'
import { dueAfter } from '../../../src/contract/deadline.ts'

describe('dueAfter › one month (GDPR Art. 12(3), Regulation 1182/71 Art. 3)', () => {
  it.each([
    ['2026-01-15', '2026-02-16', 'a Sunday becomes the Monday after'],
    ['2026-01-14', '2026-02-16', 'a Saturday becomes the Monday after'],
    ['2026-01-12', '2026-02-12', 'a working day stays'],
    ['2026-05-31', '2026-06-30', 'a date that the next month lacks becomes its last day'],
    ['2026-01-31', '2026-03-02', 'the last day of February that is a Saturday becomes a Monday of March'],
    ['2028-01-31', '2028-02-29', 'a leap year has 29 February'],
    ['2025-12-31', '2026-02-02', 'a year may end in between'],
    ['0099-12-31', '0100-02-01', 'years below 100 are themselves'],
  ])('received on %s is due on %s: %s', (received, due) => {
    expect(dueAfter(received)).toBe(due)
  })
})

describe('dueAfter › three months', () => {
  it.each([
    ['2026-01-31', '2026-04-30', 'counted from the receipt, not from the first due date'],
    ['2026-11-30', '2027-03-01', 'a Sunday at the end of February becomes the Monday after'],
  ])('received on %s and extended is due on %s: %s', (received, due) => {
    expect(dueAfter(received, 3)).toBe(due)
  })
})

describe('dueAfter › holidays', () => {
  it.each<[received: string, holidays: string[], due: string]>([
    ['2026-11-25', [], '2026-12-25'],
    ['2026-11-25', ['12-25', '12-26'], '2026-12-28'],
    ['2026-11-25', ['2026-12-25', '2026-12-28'], '2026-12-29'],
    ['2025-11-25', ['2026-12-25'], '2025-12-25'],
    ['2026-12-01', ['01-01'], '2027-01-04'],
    ['2026-11-24', ['12-24', '12-25'], '2026-12-28'],
  ])('received on %s with %j is due on %s', (received, holidays, due) => {
    expect(dueAfter(received, 1, holidays)).toBe(due)
  })
})
