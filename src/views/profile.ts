import type { View } from '../output/index.ts'
import { field } from './field.ts'

/** A stored instance. */
export interface ProfileRow {
  readonly name: string
  /** Whether it is used when none is named. */
  readonly is_default: boolean
  readonly base_url: string | null
  readonly site: string | null
  readonly email: string | null
  readonly protected: boolean
  /** Where its key comes from: `stored`, `key_command`, or null for none. */
  readonly key: string | null
}

export const profileView: View<ProfileRow> = {
  id: row => row.name,
  columns: [
    field('name', { whole: true, rank: 1 }),
    field('is_default', { title: 'default', rank: 4, text: row => (row.is_default ? 'yes' : '') }),
    field('base_url', { whole: true, rank: 2 }),
    field('site', { rank: 6 }),
    field('email', { rank: 7 }),
    field('protected', { rank: 5, text: row => (row.protected ? 'yes' : '') }),
    field('key', { rank: 3 }),
  ],
}
