import type { View } from '../output/index.ts'
import { field } from './field.ts'

/** A request that would be sent, without its credentials. */
export interface RequestRow {
  readonly method: string
  readonly url: string
  /** As it would be sent; null for none. */
  readonly body: object | null
}

export const requestView: View<RequestRow> = {
  id: row => row.url,
  keepsAll: true,
  columns: [
    field('method', { whole: true, rank: 1 }),
    field('url', { whole: true, rank: 2 }),
    field('body', { rank: 3 }),
  ],
}
