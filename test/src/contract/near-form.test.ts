import { expect, it } from 'vitest'
import { toNearForm } from '../../../src/contract/near-form.ts'
import { casePairs, characters } from '../../support/case-pairs.ts'

it('toNearForm › is equal for all simple case pairs of Unicode, and for strings that simple case folding makes equal', () => {
  const pairs = casePairs()
  expect(pairs.filter(([one, other]) => toNearForm(one) !== toNearForm(other))).toEqual([])
  const folding = characters().filter(each => /\p{Changes_When_Casemapped}/u.test(each))
  const text = folding.join('')
  for (const each of folding) {
    const same = text.match(new RegExp(each, 'giu')) ?? []
    expect(new Set([each, ...same].map(toNearForm)).size).toBe(1)
  }
})

it('toNearForm › is equal for all spellings of a character, and idempotent', () => {
  const spellings = [
    (text: string) => text.toLowerCase(),
    (text: string) => text.toUpperCase(),
    ...['NFC', 'NFD', 'NFKC', 'NFKD'].map(form => (text: string) => text.normalize(form)),
    (text: string) => `\u0085\u3000${text}\u2003 `,
    toNearForm,
  ]
  const changing = characters().filter(each =>
    /[\p{Changes_When_Casemapped}\p{Changes_When_NFKC_Casefolded}]/u.test(each),
  )
  expect(changing.length).toBeGreaterThan(9000)
  const wrong = changing.filter(each => {
    const form = toNearForm(`a${each}b`)
    return spellings.some(spell => toNearForm(spell(`a${each}b`)) !== form)
  })
  expect(wrong).toEqual([])
})

it('toNearForm › distinguishes other differences, truncates what grows, and splits no character', () => {
  expect(new Set(['maria', 'm\u00e1ria', 'mari a', 'mari', 'mariam'].map(toNearForm)).size).toBe(5)
  expect(toNearForm('\ufdfa'.repeat(255))).toHaveLength(255)
  expect(toNearForm('\u{10428}'.repeat(255)).isWellFormed()).toBe(true)
})
