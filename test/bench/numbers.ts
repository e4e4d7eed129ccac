export function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN
}

/** One thing that was measured on both sides, by turns. */
export interface Row {
  readonly group: string
  readonly name: string
  readonly unit: string
  /** One of each pair, in the order of the pairs. */
  readonly ours: readonly number[]
  readonly bare: readonly number[]
  /** What the median of the pairs' ratios is to be, at least or at most. */
  readonly bound?: { readonly least: number } | { readonly most: number }
  /** Where no ratio has a bound, whether another number is out of its own. */
  readonly isOver?: boolean
  /** What else was seen. */
  readonly notes?: string
}

export function ratiosOf({ ours, bare }: Pick<Row, 'ours' | 'bare'>): number[] {
  return ours.map((number, index) => number / (bare[index] ?? Number.NaN))
}

export function isWithin(row: Row): boolean {
  const { bound } = row
  const ratio = median(ratiosOf(row))
  if (!bound) return !row.isOver
  return 'least' in bound ? ratio >= bound.least : ratio <= bound.most
}

/** Measures both sides by turns, so that what else the machine does falls on both. */
export async function alternate(
  pairs: number,
  measureOurs: () => Promise<number>,
  measureBare: () => Promise<number>,
): Promise<{ ours: number[]; bare: number[] }> {
  const [ours, bare]: [number[], number[]] = [[], []]
  for (let pair = 0; pair < pairs; pair += 1) {
    ours.push(await measureOurs())
    bare.push(await measureBare())
  }
  return { ours, bare }
}
