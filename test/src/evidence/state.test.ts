import { describe, expect, it } from 'vitest'
import { consentStates } from '../../../src/evidence/state.ts'

type Answer = Parameters<typeof consentStates>[0][number]

const answer = (accepted: boolean, preferences: Answer['preferences'] = {}): Answer => ({ accepted, preferences })

describe('the state of a consent', () => {
  it.each([
    ['no purpose is named', [answer(true), answer(false), answer(true)], ['given', 'withdrawn', 'given']],
    ['a record was never accepted', [answer(false, { a: true }), answer(false)], ['refused', 'refused']],
    [
      'every purpose is withdrawn',
      [answer(true, { a: true, b: true }), answer(true, { a: false, b: false })],
      ['given', 'withdrawn'],
    ],
    ['every purpose is refused', [answer(true, { a: false }), answer(true, { a: true })], ['refused', 'given']],
    [
      'one purpose is withdrawn',
      [answer(true, { a: true, b: true }), answer(true, { a: true, b: false })],
      ['given', 'partly'],
    ],
    [
      'a purpose is named no more',
      [answer(true, { a: true, b: true }), answer(true, { a: true }), answer(true)],
      ['given', 'partly', 'withdrawn'],
    ],
    ['the answer is neither true nor false', [answer(true, { a: 'yes', b: 1, c: [true] })], ['given']],
    [
      'purposes are named after a consent as a whole',
      [answer(true), answer(true, { a: false })],
      ['given', 'withdrawn'],
    ],
  ])('goes by the purposes, if %s', (_, answers, states) => {
    expect(consentStates(answers)).toEqual(states)
  })

  it('agrees with what a check says of each purpose, for every short history', () => {
    const values = [true, false, 'x', undefined]
    const states = (names: string[]): Answer[] =>
      names
        .reduce<object[]>(
          (all, name) =>
            all.flatMap(one => values.map(value => ({ ...one, ...(value !== undefined && { [name]: value }) }))),
          [{}],
        )
        .flatMap(preferences => [true, false].map(accepted => answer(accepted, { ...preferences })))
    const histories = (length: number, one: Answer[]): Answer[][] =>
      length === 0 ? [[]] : histories(length - 1, one).flatMap(before => one.map(next => [...before, next]))
    for (const answers of [...histories(2, states(['a', 'b'])), ...histories(3, states(['a']))]) {
      const said = checked(answers)
      if (said.length === 0) continue
      const given = said.filter(one => one === 'consented').length
      const some = given === said.length ? 'given' : 'partly'
      const none = said.includes('withdrawn') || isGivenAsAWhole(answers) ? 'withdrawn' : 'refused'
      expect(consentStates(answers).at(-1), JSON.stringify(answers)).toBe(given > 0 ? some : none)
    }
  })
})

/** True if it was accepted before any purpose was named. */
function isGivenAsAWhole(answers: readonly Answer[]): boolean {
  return answers.some(({ accepted }, index) => accepted && checked(answers.slice(0, index + 1)).length === 0)
}

/** What `check` says of each purpose that was answered until then (server/subjects/check.ts). */
function checked(answers: readonly Answer[]): string[] {
  const named = answers.flatMap(({ preferences }) => Object.entries(preferences ?? {}))
  const purposes = new Set(named.filter(([, value]) => typeof value === 'boolean').map(([name]) => name))
  const gives = ({ accepted, preferences }: Answer, purpose: string) => accepted && preferences?.[purpose] === true
  return [...purposes].map(purpose => {
    if (gives(answers.at(-1) as Answer, purpose)) return 'consented'
    return answers.some(one => gives(one, purpose)) ? 'withdrawn' : 'refused'
  })
}
