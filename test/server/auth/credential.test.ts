import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { accountOfApiKey, newApiKey } from '../../../server/auth/credential.ts'
import { newId } from '../../../server/ids.ts'
import { idOf } from '../../../src/evidence/bytes.ts'

const base62 = [...'0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz']

describe('credentials › an API key', () => {
  it('consists of sk-, 22 digits of the account, 43 of the secret and 6 of the checksum, in base62', () => {
    expect(newApiKey(newId())).toMatch(/^sk-[\dA-Za-z]{22}[\dA-Za-z]{43}[\dA-Za-z]{6}$/)
  })

  it('names its account with every kind of credential', () => {
    const anyId = fc.bigInt({ min: 0n, max: 2n ** 128n - 1n }).map(n => idOf(n.toString(16).padStart(32, '0')))
    fc.assert(fc.property(anyId, id => accountOfApiKey(newApiKey(id)) === id))
    for (const id of ['00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff']) {
      expect(accountOfApiKey(newApiKey(id))).toBe(id)
    }
  })

  it('never repeats its secret', () => {
    const id = newId()
    const secrets = Array.from({ length: 1000 }, () => newApiKey(id).slice(25, 68))
    expect(new Set(secrets).size).toBe(1000)
  })

  it('is rejected after any change of one character', () => {
    const key = newApiKey(newId())
    const others = [...base62, '-', '_', ' ', 'é', '\0']
    const mutants = [...key].flatMap((character, index) =>
      others.filter(other => other !== character).map(other => key.slice(0, index) + other + key.slice(index + 1)),
    )
    expect(mutants.length).toBeGreaterThan(4500)
    expect(mutants.filter(mutant => accountOfApiKey(mutant) !== null)).toEqual([])
  })

  it('is rejected when characters are removed, added or swapped', () => {
    const key = newApiKey(newId())
    const index = fc.nat(key.length - 1)
    const exchanged = fc.tuple(index, index).map(([a, b]) => {
      const characters = [...key]
      ;[characters[a], characters[b]] = [characters[b] as string, characters[a] as string]
      return characters.join('')
    })
    const longer = fc
      .tuple(index, fc.string({ minLength: 1, maxLength: 3 }))
      .map(([at, text]) => key.slice(0, at) + text + key.slice(at))
    const shorter = fc
      .tuple(index, fc.integer({ min: 1, max: 5 }))
      .map(([at, count]) => key.slice(0, at) + key.slice(at + count))
    const mutant = fc.oneof(exchanged, longer, shorter).filter(text => text !== key)
    fc.assert(
      fc.property(mutant, text => accountOfApiKey(text) === null),
      { numRuns: 5000 },
    )
  })
})
