import { expect, it } from 'vitest'
import { howOfReplayed } from '../../../../../src/commands/consents/import/imports.ts'

const beganAt = 0x0190_0000_0000
const before = '018fffff-ffff-7000-8000-000000000000'
const since = '01900000-0000-7000-8000-000000000000'

it.each([
  [before, false, 'unchanged'],
  [since, false, 'unchanged'],
  [before, true, 'unchanged'],
  [since, true, 'unanswered'],
])('howOfReplayed › for the id %s, with a lost response: %s, returns %s', (id, mayBeOwn, how) => {
  expect(howOfReplayed(id, mayBeOwn, beganAt)).toBe(how)
})

it('howOfReplayed › throws for an id without a time', () => {
  expect(() => howOfReplayed('5f2c8a54-0000-4000-8000-000000000000', true, beganAt)).toThrow('nothing was signed')
})
