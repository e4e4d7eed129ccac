import { createHash } from 'node:crypto'

/** Chance that a seed decides, so that a run can be had again. */
export interface Chance {
  /** A whole number below this. */
  below(limit: number): number
  one<T>(items: readonly T[]): T
  bytes(count: number): Buffer
  uuid(): string
}

export function chanceOf(seed: string): Chance {
  let count = 0
  const block = () => createHash('sha256').update(`${seed} ${count++}`).digest()
  const below = (limit: number) => block().readUInt32BE(0) % limit
  return {
    below,
    one: items => items[below(items.length)] as (typeof items)[number],
    bytes: length => Buffer.concat(Array.from({ length: Math.ceil(length / 32) }, block)).subarray(0, length),
    uuid: () => {
      const hex = block().toString('hex')
      const parts = [hex.slice(0, 8), hex.slice(8, 12), `4${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`]
      return [...parts, hex.slice(20, 32)].join('-')
    },
  }
}
