import { describe, expect, it } from 'vitest'
import { consentOf, turnOff } from '../../../src/evidence/state.ts'

type Answer = Parameters<typeof consentOf>[0][number]

const answer = (accepted: boolean, preferences: Answer['preferences'] = {}): Answer => ({ accepted, preferences })

/** `state` or `state since INDEX` by purpose. */
function purposesOf(answers: readonly Answer[], named: readonly string[] = []) {
  const { purposes } = consentOf(answers, named)
  return Object.fromEntries(
    purposes.map(({ purpose, state, since }) => [purpose, since === null ? state : `${state} since ${since}`]),
  )
}

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
    expect(consentOf(answers).events.map(({ state }) => state)).toEqual(states)
  })

  it('goes by the purposes of the notice alone, if it names any', () => {
    const named = ['marketing', 'analytics']
    const stateOf = (preferences: object) => consentOf([answer(true, { ...preferences })], named).events[0]?.state
    const necessary = { necessary: true }
    expect(stateOf({ ...necessary, marketing: false, analytics: false })).toBe('refused')
    expect(stateOf({ ...necessary, marketing: true, analytics: false })).toBe('partly')
    expect(stateOf({ necessary: false, marketing: true, analytics: true })).toBe('given')
    expect(stateOf({ ...necessary, marketing: true })).toBe('given')
    expect(stateOf(necessary)).toBe('given')
  })
})

describe('the state of a purpose', () => {
  it.each<[string, Answer[], string]>([
    ['is given when it is true in what is accepted', [answer(true, { a: true })], 'given since 0'],
    ['is refused when it is false', [answer(true, { a: false })], 'refused since 0'],
    ['is refused when nothing is accepted', [answer(false, { a: true })], 'refused since 0'],
    ['is refused when nothing is accepted and it is not named', [answer(false)], 'refused since 0'],
    ['is not answered when nothing names it', [answer(true, { b: true })], 'not_answered'],
    ['is not answered by a text', [answer(true, { a: 'yes' })], 'not_answered'],
    ['is withdrawn when it was given', [answer(true, { a: true }), answer(true, { a: false })], 'withdrawn since 1'],
    ['is withdrawn with all others', [answer(true, { a: true }), answer(false, { a: true })], 'withdrawn since 1'],
    [
      'is withdrawn when it is no longer named, since then',
      [answer(true, { a: true }), answer(true), answer(true, { b: true })],
      'withdrawn since 1',
    ],
    [
      'stays refused when it is no longer named',
      [answer(true, { a: false }), answer(true, { b: true })],
      'refused since 0',
    ],
    [
      'is given again since the last time',
      [answer(true, { a: true }), answer(true, { a: false }), answer(true, { a: true }), answer(true, { a: true })],
      'given since 2',
    ],
    ['is not answered by an acceptance after a refusal of everything', [answer(false), answer(true)], 'not_answered'],
  ])('%s', (_, answers, state) => {
    expect(purposesOf(answers, ['a'])).toMatchObject({ a: state })
  })

  it('is stated for names that were true or false, and of a notice also for those that were not', () => {
    const answers = [answer(true, { a: true, text: 'yes' }), answer(true, { b: false })]
    expect(purposesOf(answers)).toEqual({ a: 'withdrawn since 1', b: 'refused since 1' })
    expect(purposesOf(answers, ['c'])).toEqual({ ...purposesOf(answers), c: 'not_answered' })
    expect(purposesOf([answer(true, JSON.parse('{"__proto__":true,"constructor":false}'))])).toEqual(
      JSON.parse('{"__proto__":"given since 0","constructor":"refused since 0"}'),
    )
  })

  it('changes with the events that say so alone', () => {
    const { events } = consentOf([
      answer(true, { a: true, b: false }),
      answer(true, { a: true, b: false, c: 'text' }),
      answer(false, { a: true }),
    ])
    expect(events.map(({ changed }) => changed.map(({ purpose, state }) => `${purpose} ${state}`))).toEqual([
      ['a given', 'b refused'],
      [],
      ['a withdrawn'],
    ])
  })
})

describe('a withdrawal of purposes', () => {
  const withdraw = (preferences: Record<string, unknown>, purposes: string[], named: string[] = []) => {
    const before = { accepted: true, preferences }
    const { withdrawn, ...state } = turnOff(before, purposes)
    return { withdrawn, ...state, whole: consentOf([before, state], named).events.at(-1)?.state }
  }

  it('when it takes the last given purpose, ends the acceptance and the consent, also with purposes never answered', () => {
    const ended = { withdrawn: ['a'], accepted: false, whole: 'withdrawn' }
    expect(withdraw({ a: true, b: false, c: 'x' }, ['a'])).toEqual({
      ...ended,
      preferences: { a: false, b: false, c: 'x' },
    })
    for (const named of [[], ['a'], ['a', 'b'], ['b']])
      expect(withdraw({ a: true }, ['a', 'b'], named)).toEqual({ ...ended, preferences: { a: false } })
  })

  it('when another purpose is given, keeps the acceptance and the other answer', () => {
    const preferences = { a: false, b: true }
    expect(withdraw({ a: true, b: true }, ['a'])).toEqual({
      withdrawn: ['a'],
      accepted: true,
      preferences,
      whole: 'partly',
    })
  })

  it.each([[{}], [{ a: false }], [{ a: 'true' }], [{ a: { b: true } }]])(
    'when the purpose is not given by an acceptance with %j, changes nothing',
    preferences => {
      expect(withdraw(preferences, ['a', 'toString'])).toMatchObject({ withdrawn: [], accepted: true, preferences })
    },
  )
})

it('the state of the whole agrees with that of each purpose, for every short history', () => {
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
    expect(consentOf(answers).events.at(-1)?.state, JSON.stringify(answers)).toBe(given > 0 ? some : none)
  }
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
