import type { View } from '../output/index.ts'

/** A key, and where it came from. */
export interface TokenRow {
  readonly api_key: string
  readonly source: string
}

export const tokenView: View<TokenRow> = {
  id: row => row.api_key,
  columns: [{ name: 'api_key', value: row => row.api_key, whole: true, rank: 1 }],
}
