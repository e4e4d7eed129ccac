import type { NewSite, NewToken, Site } from '../contract/index.ts'
import type { Column, View } from '../output/index.ts'
import { field, minute } from './field.ts'

const columns: readonly Column<Site>[] = [
  field('id', { whole: true, rank: 1 }),
  field('name', { rank: 2 }),
  field('policy_version', { title: 'policy', rank: 3 }),
  field('allowed_origins', { text: row => row.allowed_origins.join(' '), rank: 4 }),
  field('created_at', { text: row => minute(row.created_at), rank: 6 }),
  field('updated_at', { text: row => minute(row.updated_at), rank: 7 }),
  field('retention_days', { title: 'retention', rank: 5 }),
]

export const siteView: View<Site> = { id: row => row.id, columns }

/** A site when it is made: with its token, which is shown this once. */
export const newSiteView: View<NewSite> = {
  id: row => row.id,
  columns: [...columns, field('token', { whole: true, once: true, rank: 0 })],
}

/** A new token of a site, which is shown this once. */
export const newTokenView: View<NewToken> = {
  id: row => row.site_id,
  columns: [
    field('site_id', { whole: true, rank: 1 }),
    field('token', { whole: true, once: true, rank: 0 }),
    field('previous_valid_until', { whole: true, rank: 2 }),
  ],
}
