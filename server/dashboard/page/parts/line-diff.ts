/** With more edits, the whole text is shown as replaced: memory grows with the square of the edits. */
const mostEdits = 3000

const context = 3

/**
 * Returns a unified diff: lines with the sign `+`, `-` or a space, and `@OLD → NEW` before each hunk, the numbers of its first
 * lines.
 */
export function diffLines(old: string, present: string): string[] {
  const lines = removedFirst(shortestEdit(split(old), split(present)))
  const isShown = lines.map(() => false)
  lines.forEach((line, index) => {
    if (line[0] !== ' ') isShown.fill(true, Math.max(0, index - context), index + context + 1)
  })
  const next = { old: 1, present: 1 }
  return lines.flatMap((line, index) => {
    const place = isShown[index - 1] ? [] : [`@${next.old} → ${next.present}`]
    if (line[0] !== '+') next.old += 1
    if (line[0] !== '-') next.present += 1
    if (!isShown[index]) return []
    return [...place, ...(line.endsWith('\n') ? [line.slice(0, -1)] : [line, '\\no newline at the end'])]
  })
}

/** Keeps line ends, so that a last line without one differs. */
function split(text: string): readonly string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? []
}

/** Myers, An O(ND) Difference Algorithm and Its Variations (1986). */
function shortestEdit(old: readonly string[], present: readonly string[]): string[] {
  const most = Math.min(old.length + present.length, mostEdits)
  const zero = most + 1
  const reach = new Int32Array(2 * most + 3)
  const trace: Int32Array[] = []
  const from = (edits: number, diagonal: number, at: (diagonal: number) => number) =>
    diagonal === -edits || (diagonal !== edits && at(diagonal - 1) < at(diagonal + 1)) ? diagonal + 1 : diagonal - 1
  const at = (diagonal: number) => reach[zero + diagonal] ?? 0
  for (let edits = 0; edits <= most; edits += 1) {
    trace.push(reach.slice(zero - edits - 1, zero + edits + 2))
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      const before = from(edits, diagonal, at)
      let x = before < diagonal ? at(before) + 1 : at(before)
      while (x < old.length && x - diagonal < present.length && old[x] === present[x - diagonal]) x += 1
      reach[zero + diagonal] = x
      if (x >= old.length && x - diagonal >= present.length) return wayBack()
    }
  }
  return [...old.map(line => `-${line}`), ...present.map(line => `+${line}`)]

  function wayBack(): string[] {
    const lines: string[] = []
    let [x, y] = [old.length, present.length]
    for (let edits = trace.length - 1; edits >= 0; edits -= 1) {
      const earlier = (diagonal: number) => trace[edits]?.[diagonal + edits + 1] ?? 0
      const before = from(edits, x - y, earlier)
      const isAdded = before > x - y
      const end = isAdded ? earlier(before) : earlier(before) + 1
      for (; x > end; y -= 1) lines.push(` ${old[--x]}`)
      if (edits > 0) lines.push(isAdded ? `+${present[--y]}` : `-${old[--x]}`)
    }
    return lines.reverse()
  }
}

function removedFirst(lines: readonly string[]): string[] {
  const ordered: string[] = []
  const added: string[] = []
  for (const line of lines) {
    if (line[0] === '+') added.push(line)
    else {
      if (line[0] === ' ') ordered.push(...added.splice(0))
      ordered.push(line)
    }
  }
  return [...ordered, ...added]
}
