import { leastPersons } from '../../src/contract/index.ts'

/** `small`: fewer than ten persons. `remainder`: its numbers would reveal those of a small group. */
export type Hidden = 'small' | 'remainder'

/** Hides at least two groups with ten persons in total, because the total reveals their sum. */
export function hideSmallGroups(sizes: readonly number[], total: number): (Hidden | null)[] {
  const isSmall = (size: number) => size < leastPersons
  const hidden = sizes.map((size): Hidden | null => (isSmall(size) || isSmall(total) ? 'small' : null))
  const indexes = sizes.flatMap((_, index) => (hidden[index] ? [index] : []))
  let sum = indexes.reduce((all, index) => all + (sizes[index] ?? 0), 0)
  let count = indexes.length
  if (count === 0) return hidden
  const others = sizes.map((size, index) => ({ size, index })).filter(({ index }) => hidden[index] === null)
  for (const { size, index } of others.sort((one, other) => one.size - other.size)) {
    if (count >= 2 && !isSmall(sum)) break
    hidden[index] = 'remainder'
    sum += size
    count += 1
  }
  return hidden
}

/** Hides small groups that can share records, such as preferences. */
export function hideSmall(sizes: readonly number[]): (Hidden | null)[] {
  return sizes.map(size => (size < leastPersons ? 'small' : null))
}
