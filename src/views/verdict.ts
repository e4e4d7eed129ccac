import type { View } from '../output/index.ts'
import { field, minute } from './field.ts'

/** What is to be said of a signed document. */
export interface VerdictRow {
  readonly file: string
  /** As the document says; null where it says none. */
  readonly type: string | null
  readonly result: 'valid' | 'not_valid'
  /** The id of the key whose signature it certainly has; null where that is not so. */
  readonly signed_by: string | null
  /** When it was made, as whoever signed it says. */
  readonly issued_at: string | null
  /** Why it is not valid; else where the key is from. */
  readonly detail: string
}

export const verdictView: View<VerdictRow> = {
  id: row => row.file,
  columns: [
    field('file', { rank: 1 }),
    field('type', { rank: 4 }),
    field('result', { whole: true, rank: 2 }),
    field('signed_by', { whole: true, rank: 6 }),
    field('issued_at', { text: row => minute(row.issued_at), whole: true, rank: 5 }),
    field('detail', { rank: 3 }),
  ],
}
