/** Returns the Levenshtein distance in code points. */
export function editDistance(from: string, to: string): number {
  const letters = [...to]
  let row = Array.from({ length: letters.length + 1 }, (_, index) => index)
  for (const [index, letter] of [...from].entries()) {
    const next = [index + 1]
    for (let at = 0; at < letters.length; at += 1) {
      const changed = (row[at] ?? 0) + (letters[at] === letter ? 0 : 1)
      next.push(Math.min(changed, (row[at + 1] ?? 0) + 1, (next[at] ?? 0) + 1))
    }
    row = next
  }
  return row.at(-1) ?? 0
}
