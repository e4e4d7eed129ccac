/** Optimal string alignment distance, in code points. */
export function editDistance(from: string, to: string): number {
  const [before, after] = [[...from], [...to]]
  let last: number[] = []
  let row = Array.from({ length: after.length + 1 }, (_, index) => index)
  for (const [index, letter] of before.entries()) {
    const next = [index + 1]
    for (let at = 0; at < after.length; at += 1) {
      const changed = (row[at] ?? 0) + (after[at] === letter ? 0 : 1)
      const isSwapped = index > 0 && at > 0 && after[at] === before[index - 1] && after[at - 1] === letter
      const swapped = isSwapped ? (last[at - 1] ?? 0) + 1 : changed
      next.push(Math.min(changed, swapped, (row[at + 1] ?? 0) + 1, (next[at] ?? 0) + 1))
    }
    last = row
    row = next
  }
  return row.at(-1) ?? 0
}
