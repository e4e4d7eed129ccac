import { expect, it } from 'vitest'
import { leafHash, MerkleTree } from '../../../src/evidence/merkle.ts'

/** RFC 6962's own test vectors: the inputs of its reference implementation, and the roots of their first 1 to 8. */
const leaves = ['', '00', '10', '2021', '3031', '40414243', '5051525354555657', '606162636465666768696a6b6c6d6e6f']
const roots = [
  '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
  'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
  'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
  'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
  '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4',
  '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef',
  'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c',
  '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
]

it('a Merkle tree has the roots of the published test vectors after each leaf', () => {
  const tree = new MerkleTree()
  expect(tree.root.toString('hex')).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855')
  for (const [index, leaf] of leaves.entries()) {
    tree.append(Buffer.from(leaf, 'hex'))
    expect([tree.size, tree.root.toString('hex')]).toEqual([index + 1, roots[index]])
  }
})

it('a leaf hash has the leaf prefix', () => {
  expect(leafHash(Buffer.alloc(0)).toString('hex')).toBe(roots[0])
})

it('a Merkle tree opened from its frontier continues with the same roots', () => {
  const whole = new MerkleTree()
  let stopped = new MerkleTree()
  for (let index = 0; index < 200; index += 1) {
    const leaf = Buffer.from(`leaf ${index}`)
    whole.append(leaf)
    stopped = new MerkleTree(stopped.size, stopped.frontier)
    stopped.append(leaf)
    expect(stopped.root.equals(whole.root)).toBe(true)
  }
})

it('a Merkle tree continued by the root of a tile of 256 leaves has the root of its leaves', () => {
  const leafOf = (index: number) => Buffer.from(`leaf ${index}`)
  const whole = new MerkleTree()
  const tiled = new MerkleTree()
  for (let index = 0; index < 900; index += 1) {
    const tile = whole.append(leafOf(index))
    expect(tile !== null).toBe(index % 256 === 255)
    if (tile) tiled.appendTile(tile)
  }
  expect(() => whole.appendTile(leafHash(leafOf(0)))).toThrow('within a tile')
  for (let index = tiled.size; index < whole.size; index += 1) tiled.append(leafOf(index))
  expect(tiled.root.equals(whole.root)).toBe(true)
})

it('a Merkle tree rejects a frontier of another size', () => {
  expect(() => new MerkleTree(3, Buffer.alloc(32))).toThrow('does not fit a tree of 3 leaves')
})
