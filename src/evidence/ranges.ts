// Imports nothing from Node.js, because the dashboard uses this too.

export interface Range {
  readonly from: number
  /** Exclusive. */
  readonly to: number
}

/** Subtrees of an inclusion proof, in order (RFC 9162 section 2.1.3.1). */
export function inclusionRanges(index: number, size: number): Range[] {
  const ranges: Range[] = []
  let [from, to] = [0, size]
  while (to - from > 1) {
    const middle = from + leftWidth(to - from)
    ranges.unshift(index < middle ? { from: middle, to } : { from, to: middle })
    if (index < middle) to = middle
    else from = middle
  }
  return ranges
}

/** Subtrees of a consistency proof, in order (RFC 9162 section 2.1.4.1). */
export function consistencyRanges(first: number, second: number): Range[] {
  const ranges: Range[] = []
  let [from, to] = [0, second]
  while (to > first) {
    const middle = from + leftWidth(to - from)
    ranges.unshift(first <= middle ? { from: middle, to } : { from, to: middle })
    if (first <= middle) to = middle
    else from = middle
  }
  return from === 0 || from === to ? ranges : [{ from, to }, ...ranges]
}

/** The largest power of two below `size`, which is above 1. */
function leftWidth(size: number): number {
  let width = 1
  while (width * 2 < size) width *= 2
  return width
}
