import type { KeyObject } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { findKeysRoot, readKeyChain, trustKeys } from '../../../src/evidence/key-chain.ts'
import { keyIdOf, signingKeyOf } from '../../../src/evidence/keys.ts'
import { revocationOf, statementOf } from '../../support/key-statements.ts'

type Keys = [KeyObject, KeyObject, KeyObject, KeyObject]
const [first, second, third, stranger] = [2, 3, 4, 5].map(byte => signingKeyOf(Buffer.alloc(32, byte))) as Keys
const secondStatement = statementOf(second, first, { not_before: '2026-02-01T00:00:00.000Z' })
const chain = [
  statementOf(first, first),
  secondStatement,
  statementOf(third, second, { before: secondStatement }),
] as const
const idsOf = (documents: readonly string[], anchor: KeyObject) => [
  ...readKeyChain(documents, keyIdOf(anchor)).keys.keys(),
]
const all = [first, second, third].map(keyIdOf)

describe('readKeyChain', () => {
  it('returns the same chain for each of its keys, with the documents in any order', () => {
    for (const anchor of [first, second, third])
      for (const documents of [chain, chain.toReversed()]) expect(idsOf(documents, anchor)).toEqual(all)
    expect(readKeyChain(chain, all[0] ?? '').newest).toBe(all[2])
  })

  it('is empty for a key without a statement', () => {
    expect(idsOf(chain, stranger)).toEqual([])
  })

  it('includes the keys before a lost one for the key that follows it, but not the other way round', () => {
    const lost = { previous: keyIdOf(third), before: chain[2] }
    const documents = [...chain, statementOf(stranger, stranger, lost)]
    expect(idsOf(documents, stranger)).toEqual([...all, keyIdOf(stranger)])
    for (const anchor of [first, second, third]) expect(idsOf(documents, anchor)).toEqual(all)
  })

  it('stops at a missing statement, and contains nothing beyond it', () => {
    expect(idsOf(chain.toSpliced(1, 1), first)).toEqual(all.slice(0, 1))
    expect(idsOf(chain.toSpliced(1, 1), third)).toEqual([])
  })

  it('contains no second key that one of its keys introduced, unless it is the anchor', () => {
    const fork = statementOf(stranger, first)
    expect(idsOf([fork, ...chain], second)).toEqual(all)
    expect(idsOf([...chain, fork], stranger)).toEqual([...all.slice(0, 1), keyIdOf(stranger)])
  })

  it('when a key is compromised, ignores the predecessor that its holder claims', () => {
    const before = statementOf(stranger, stranger)
    const forged = statementOf(second, second, { previous: keyIdOf(stranger), before })
    expect(idsOf([forged, before, ...chain], third)).toEqual(all)
    expect(idsOf([forged, before, chain[2]], third)).toEqual(all.slice(2))
  })

  it('when a statement names a predecessor other than the chain’s, ends before it', () => {
    const other = statementOf(third, second)
    expect(idsOf([chain[0], chain[1], other], first)).toEqual(all.slice(0, 2))
    expect(idsOf([chain[0], chain[1], other], third)).toEqual(all.slice(2))
  })

  it('rejects a statement with any changed character', () => {
    const [statement = ''] = chain.slice(2)
    for (let at = 0; at < statement.length; at += 1) {
      const changed = `${statement.slice(0, at)}${statement[at] === '0' ? '1' : '0'}${statement.slice(at + 1)}`
      expect(idsOf([...chain.slice(0, 2), changed], first), `character ${at}`).toEqual(all.slice(0, 2))
    }
  })

  it('returns only the documents of the chain, in order', () => {
    const others = [statementOf(stranger, stranger), revocationOf(third, second), revocationOf(third, third), 'x']
    const revocation = revocationOf(first, third)
    const mixed = [others[0] ?? '', ...chain, ...others.slice(1), revocation]
    expect(readKeyChain(mixed, all[1] ?? '').documents).toEqual([...chain, revocation])
    expect(findKeysRoot(chain, 4)).toBeNull()
    expect(findKeysRoot(chain, 3)).not.toEqual(findKeysRoot(chain.toReversed(), 3))
  })
})

describe('trustKeys', () => {
  const published = (documents: readonly string[]) =>
    trustKeys(
      [third, second, first, stranger].map((publicKey, index) => ({
        publicKey,
        statement: documents[index] ?? null,
        revocation: index === 2 ? (documents[4] ?? null) : null,
      })),
    )
  const statements = [...chain.toReversed(), '']

  it('reports a key that does not chain to the first, or not at the time of the document', () => {
    const keys = published(statements)
    const problemOf = (index: number, time: string) =>
      keys.get([...all, keyIdOf(stranger)][index] ?? '')?.findProblem(time)
    for (const index of [0, 2]) expect(problemOf(index, '2026-01-01T00:00:00.000Z')).toBeNull()
    expect(problemOf(0, '2025-12-31T23:59:59.999Z')).toMatch(/not valid yet at 2025.* from 2026-01-01T00:00:00.000Z on/)
    expect(problemOf(1, '2026-01-31T23:59:59.999Z')).toContain('not valid yet')
    expect(problemOf(3, '2026-01-01T00:00:00.000Z')).toBe(`does not chain to the key ${all[2]}, the first of the set`)
  })

  it('reports no problem for the keys of a set without statements', () => {
    expect([...published([]).values()].map(key => key.findProblem('2020-01-01T00:00:00.000Z'))).toEqual(
      Array(4).fill(null),
    )
  })

  it.each(['superseded', 'compromised'] as const)('reports a key that was revoked as %s', reason => {
    const at = '2026-06-01T00:00:00.000Z'
    const keys = published([...statements, revocationOf(first, second, { reason, revoked_at: at })])
    const problemOf = (time: string) => keys.get(all[0] ?? '')?.findProblem(time) ?? null
    expect(problemOf('2026-06-01T00:00:00.001Z')).toContain(`was revoked at ${at}`)
    if (reason === 'superseded') expect(problemOf(at)).toBeNull()
    else expect(problemOf('2026-03-01T00:00:00.000Z')).toContain('compromised')
  })

  it('uses the worst of several revocations', () => {
    const revocations = [
      revocationOf(first, third, { reason: 'superseded', revoked_at: '2026-03-01T00:00:00.000Z' }),
      revocationOf(first, second, { reason: 'superseded', revoked_at: '2026-02-01T00:00:00.000Z' }),
    ]
    const revoked = (documents: string[]) => readKeyChain([...chain, ...documents], all[2] ?? '').keys.get(all[0] ?? '')
    expect(revoked(revocations)?.revocation?.at).toBe('2026-02-01T00:00:00.000Z')
    const key = revoked([...revocations, revocationOf(first, third)])
    expect(key?.findProblem('2026-01-15T00:00:00.000Z')).toContain('compromised')
  })
})
