/** The known name that a text was probably meant to be; null where none is near. */
export function nearest(text: string, known: readonly string[]): string | null {
  const plain = text.replace(/[^a-z]/gi, '').toLowerCase()
  const scored = known
    .map(name => ({ name, distance: editDistance(plain, name.replace(/_/g, '')) }))
    .sort((a, b) => a.distance - b.distance)
  const [best] = scored
  return best && best.distance <= Math.max(1, best.name.length / 3) ? best.name : null
}

/** How many letters to add, take away or change, to make one text of another (Levenshtein 1966). */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (const [index, letter] of [...from].entries()) {
    const next = [index + 1]
    for (let at = 0; at < to.length; at += 1) {
      const changed = (row[at] ?? 0) + (to[at] === letter ? 0 : 1)
      next.push(Math.min(changed, (row[at + 1] ?? 0) + 1, (next[at] ?? 0) + 1))
    }
    row = next
  }
  return row.at(-1) ?? 0
}
