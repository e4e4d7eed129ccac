import { dbErrorKind } from './errors.ts'

/** On failure, bisects down to the failing rows. Rethrows errors that no row causes. */
export async function bisect<Row extends { readonly id: string }, Result>(
  rows: readonly Row[],
  run: (rows: readonly Row[]) => Promise<Result>,
  onFailure: (id: string, error: unknown) => void,
): Promise<Result[]> {
  try {
    return [await run(rows)]
  } catch (error) {
    if (['lost', 'unavailable', 'aborted', 'rejected'].includes(dbErrorKind(error) ?? '')) throw error
    if (rows.length < 2) {
      for (const { id } of rows) onFailure(id, error)
      return []
    }
    const half = Math.ceil(rows.length / 2)
    const results = await bisect(rows.slice(0, half), run, onFailure)
    return [...results, ...(await bisect(rows.slice(half), run, onFailure))]
  }
}
