import { createHash } from 'node:crypto'

export const sha256 = (...parts: (Buffer | string)[]) =>
  createHash('sha256')
    .update(Buffer.concat(parts.map(part => Buffer.from(part))))
    .digest()

export const hashLeaf = (data: Buffer | string) => sha256(Buffer.of(0), data)

const split = (n: number) => 2 ** Math.ceil(Math.log2(n) - 1)

/** RFC 9162, word for word: MTH, PATH and SUBPROOF over the hashes of leaves. */
export function naiveTree(leafAt: (index: number) => Buffer) {
  const roots = new Map<string, Buffer>()
  function mth(from: number, to: number): Buffer {
    const name = `${from}-${to}`
    const known = roots.get(name)
    if (known) return known
    const k = split(to - from)
    const root = to - from === 1 ? leafAt(from) : sha256(Buffer.of(1), mth(from, from + k), mth(from + k, to))
    roots.set(name, root)
    return root
  }
  function path(m: number, from: number, to: number): Buffer[] {
    if (to - from === 1) return []
    const k = split(to - from)
    return m < k ? [...path(m, from, from + k), mth(from + k, to)] : [...path(m - k, from + k, to), mth(from, from + k)]
  }
  function subproof(m: number, from: number, to: number, isWhole = true): Buffer[] {
    if (m === to - from) return isWhole ? [] : [mth(from, to)]
    const k = split(to - from)
    return m <= k
      ? [...subproof(m, from, from + k, isWhole), mth(from + k, to)]
      : [...subproof(m - k, from + k, to, false), mth(from, from + k)]
  }
  return { mth, path, subproof }
}
