import { describe, expect, it } from 'vitest'
import { leafHash } from '../../../src/evidence/merkle.ts'
import {
  consistencyRanges,
  inclusionRanges,
  isConsistent,
  type Range,
  rootOfInclusion,
} from '../../../src/evidence/proofs.ts'
import { hashLeaf, naiveTree, sha256 } from './rfc9162.ts'

const { mth, path, subproof } = naiveTree(index => hashLeaf(`leaf ${index}`))

const max = 200
const rootsOf = (ranges: Range[]) => ranges.map(({ from, to }) => mth(from, to))
const inclusion = (index: number, size: number) => ({
  ...{ leafHash: leafHash(Buffer.from(`leaf ${index}`)), index, size },
  path: rootsOf(inclusionRanges(index, size)),
})
const consistency = (first: number, second: number) => ({
  first: { size: first, root: mth(0, first) },
  second: { size: second, root: mth(0, second) },
  path: rootsOf(consistencyRanges(first, second)),
})
const damages = (nodes: readonly Buffer[]): Buffer[][] => [
  ...nodes.map((node, at) => nodes.with(at, Buffer.from(node.map((byte, index) => (index === 7 ? byte ^ 1 : byte))))),
  ...nodes.map((_, at) => nodes.toSpliced(at, 1)),
  ...nodes.map((node, at) => nodes.toSpliced(at, 0, node)),
  [...nodes, Buffer.alloc(32)],
  nodes.toReversed().length > 1 && !nodes[0]?.equals(nodes.at(-1) as Buffer)
    ? nodes.toReversed()
    : [...nodes, ...nodes, Buffer.alloc(32)],
]

describe('inclusion proofs', () => {
  it(`equal those of the RFC for every leaf of trees of 1 to ${max} leaves, and lead to the root`, () => {
    for (let size = 1; size <= max; size += 1) {
      for (let index = 0; index < size; index += 1) {
        const proof = inclusion(index, size)
        const isSame = Buffer.concat(proof.path).equals(Buffer.concat(path(index, 0, size)))
        if (!isSame || !rootOfInclusion(proof)?.equals(mth(0, size))) expect.unreachable(`leaf ${index} of ${size}`)
      }
    }
  })

  it('lead to another root or none if any part is changed', () => {
    for (const size of [1, 2, 3, 7, 8, 100, 200]) {
      for (let index = 0; index < size; index += 1) {
        const proof = inclusion(index, size)
        const others = [
          ...damages(proof.path).map(damaged => ({ ...proof, path: damaged })),
          { ...proof, leafHash: Buffer.alloc(32) },
          ...[index + 1, size].map(other => ({ ...proof, index: other })),
        ]
        const accepted = others.findIndex(other => rootOfInclusion(other)?.equals(mth(0, size)))
        if (accepted !== -1) expect.unreachable(`leaf ${index} of ${size}: damage ${accepted}`)
      }
    }
  })
})

describe('consistency proofs', () => {
  it(`equal those of the RFC for every pair of sizes from 1 to ${max}, and are accepted`, () => {
    for (let second = 1; second <= max; second += 1) {
      for (let first = 1; first <= second; first += 1) {
        const proof = consistency(first, second)
        const isSame = Buffer.concat(proof.path).equals(Buffer.concat(subproof(first, 0, second)))
        if (!isSame || !isConsistent(proof)) expect.unreachable(`${first} of ${second}`)
      }
    }
  })

  it('are rejected if any part is changed', () => {
    for (const second of [2, 3, 8, 9, 100, 200]) {
      for (let first = 1; first <= second; first += 1) {
        const proof = consistency(first, second)
        const others = [
          ...damages(proof.path).map(damaged => ({ ...proof, path: damaged })),
          { ...proof, first: { ...proof.first, root: Buffer.alloc(32) } },
          { ...proof, second: { ...proof.second, root: Buffer.alloc(32) } },
          { ...proof, first: proof.second, second: proof.first },
        ]
        const accepted = others.slice(0, first === second ? -1 : undefined).findIndex(isConsistent)
        if (accepted !== -1) expect.unreachable(`${first} of ${second}: damage ${accepted}`)
      }
    }
    expect(isConsistent({ ...consistency(1, 2), first: { size: 0, root: sha256() } })).toBe(false)
  })
})
