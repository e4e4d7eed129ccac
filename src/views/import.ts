import type { View } from '../output/index.ts'

/** The result of a line of an import. */
export interface LineResult {
  readonly line: number
  /** `unknown`: the answer was lost, so the record may exist or not. */
  readonly result: 'created' | 'failed' | 'unknown'
  readonly id: string | null
  readonly error_code: string | null
}

export const importView: View<LineResult> = {
  id: row => row.id ?? '',
  columns: [
    { name: 'line', value: row => row.line, rank: 1 },
    { name: 'result', value: row => row.result, whole: true, rank: 2 },
    { name: 'id', value: row => row.id, whole: true, rank: 3 },
    { name: 'error_code', value: row => row.error_code, rank: 4 },
  ],
}
