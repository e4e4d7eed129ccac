import type { ApiKey, NewApiKey } from '../contract/index.ts'
import type { Column, View } from '../output/index.ts'
import { field, minute } from './field.ts'

const columns: readonly Column<ApiKey>[] = [
  field('id', { whole: true, rank: 1 }),
  field('name', { rank: 2 }),
  field('hint', { text: row => (row.hint === null ? '' : `sk-…${row.hint}`), whole: true, rank: 3 }),
  field('scopes', { text: row => row.scopes.join(','), rank: 4 }),
  field('created_at', { text: row => minute(row.created_at), rank: 8 }),
  field('expires_at', { text: row => minute(row.expires_at), rank: 5 }),
  field('last_used_on', { rank: 7 }),
  field('revoked_at', { text: row => minute(row.revoked_at), rank: 6 }),
]

/** An API key, as far as it is known after it was made. */
export const keyView: View<ApiKey> = { id: row => row.id, columns }

/** The same when it is made: with its text, which is shown this once and must not be broken by a line's end. */
export const newKeyView: View<NewApiKey> = {
  id: row => row.id,
  columns: [...columns, field('key', { whole: true, once: true, rank: 0 })],
}
