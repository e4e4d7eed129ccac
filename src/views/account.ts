import type { ApiKey, NewApiKey, NewSite, NewToken, Site, Usage } from '../contract/index.ts'
import { describeRetention, describeSealed } from '../contract/retention.ts'
import { toneOf, type View } from '../output/index.ts'
import { field, minute } from './field.ts'

function keyState({ revoked_at, expires_at }: ApiKey): 'active' | 'expired' | 'revoked' {
  if (revoked_at !== null) return 'revoked'
  return expires_at !== null && Date.parse(expires_at) <= Date.now() ? 'expired' : 'active'
}

export const keyView: View<ApiKey> = {
  id: row => row.id,
  columns: [
    field('id', { whole: true, rank: 1 }),
    field('name', { rank: 2 }),
    field('hint', { text: row => (row.hint === null ? '' : `sk-…${row.hint}`), whole: true, rank: 3 }),
    field('scopes', { text: row => row.scopes.join(','), rank: 4 }),
    field('site_ids', { title: 'sites', text: row => row.site_ids?.join(',') ?? '', rank: 6.7 }),
    field('created_at', { text: row => minute(row.created_at), rank: 8 }),
    field('expires_at', { text: row => minute(row.expires_at), rank: 5 }),
    field('last_used_on', { rank: 7 }),
    field('revoked_at', { text: row => minute(row.revoked_at), rank: 6 }),
    field('created_by', { rank: 6.5 }),
    { name: 'state', value: keyState, whole: true, tone: row => toneOf(keyState(row)), rank: 1.5 },
  ],
}

export const newKeyView: View<NewApiKey> = {
  id: row => row.id,
  columns: [...keyView.columns, field('key', { whole: true, once: true, rank: 0 })],
}

export const siteView: View<Site> = {
  id: row => row.id,
  columns: [
    field('id', { whole: true, rank: 1 }),
    field('name', { rank: 2 }),
    field('policy_version', { title: 'policy', rank: 3 }),
    field('allowed_origins', { text: row => row.allowed_origins.join(' '), rank: 4 }),
    field('created_at', { text: row => minute(row.created_at), rank: 6 }),
    field('updated_at', { text: row => minute(row.updated_at), rank: 7 }),
    field('retention', { text: ({ retention }) => describeRetention(retention), rank: 5 }),
    field('strict_notices', { title: 'strict', rank: 8 }),
    field('archived_at', { title: 'archived', text: row => minute(row.archived_at), rank: 9 }),
    field('sealed_proof', { title: 'sealed', text: ({ sealed_proof }) => describeSealed(sealed_proof), rank: 10 }),
  ],
}

export const newSiteView: View<NewSite> = {
  id: row => row.id,
  columns: [...siteView.columns, field('token', { whole: true, once: true, rank: 0 })],
}

export const newTokenView: View<NewToken> = {
  id: row => row.site_id,
  columns: [
    field('site_id', { whole: true, rank: 1 }),
    field('token', { whole: true, once: true, rank: 0 }),
    field('previous_valid_until', { whole: true, rank: 2 }),
  ],
}

/** Null while units remain: the columns show them. */
export function describeUsage({ limit, remaining, resets_at }: Usage): string | null {
  if (limit === null) return 'the account has no monthly limit'
  return remaining === 0 ? `this month’s quota is used up, until ${resets_at.slice(0, 10)}` : null
}

export const usageView: View<Usage> = {
  id: row => row.month,
  columns: [
    field('month', { whole: true, rank: 1 }),
    field('used', { whole: true, rank: 2 }),
    field('limit', { whole: true, rank: 3 }),
    field('remaining', { whole: true, rank: 4 }),
    field('resets_at', { whole: true, rank: 5 }),
  ],
}
