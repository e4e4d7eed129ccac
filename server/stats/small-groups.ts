import { leastPersons } from '../../src/contract/index.ts'

/** `small`: fewer than ten persons. `remainder`: with its numbers, those of a small one would follow from the total. */
export type Hidden = 'small' | 'remainder'

/**
 * Returns which of the groups of a total to hide, by their sizes in persons. What is hidden is at least two groups that have
 * ten persons together, because the total less what is shown is their sum.
 */
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

/** Returns which of independent groups to hide, such as preferences, of which a record has several. */
export function hideSmall(sizes: readonly number[]): (Hidden | null)[] {
  return sizes.map(size => (size < leastPersons ? 'small' : null))
}
