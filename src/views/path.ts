import type { View } from '../output/index.ts'
import { field } from './field.ts'

/** Where a file or folder is, or would be. */
export interface PathRow {
  readonly name: string
  readonly path: string
  readonly exists: boolean
}

export const pathView: View<PathRow> = {
  id: row => row.path,
  columns: [
    field('name', { whole: true, rank: 1 }),
    field('path', { whole: true, rank: 2 }),
    field('exists', { rank: 3 }),
  ],
}
