import type { ConsentQuery } from '../../../../../src/contract/consents.ts'
import { option } from '../../parts/command.tsx'

/** Values of the form; empty means any. */
export interface Filters {
  /** An id. */
  readonly site: string
  readonly subject: string
  readonly label: string
  readonly answer: '' | 'accepted' | 'refused'
  /** UTC days, both included. */
  readonly from: string
  readonly to: string
  readonly source: '' | 'imported' | 'witnessed'
  /** `expired`, or the time until the end, such as `30d`. Disables all other filters but the site. */
  readonly end: string
  readonly withDeleted: boolean
}

export const noFilters: Filters = {
  site: '',
  subject: '',
  label: '',
  answer: '',
  from: '',
  to: '',
  source: '',
  end: '',
  withDeleted: false,
}

export function queryOf(filters: Filters): ConsentQuery {
  const { site, subject, label, answer, from, to, source, end, withDeleted } = filters
  const site_id = site || undefined
  if (end) return { site_id, expiry: end === 'expired' ? end : `P${end.toUpperCase()}` }
  return {
    site_id,
    subject_id: subject || undefined,
    consent_id: label || undefined,
    accepted: answer === '' ? undefined : answer === 'accepted',
    from: from ? `${from}T00:00:00.000Z` : undefined,
    to: to ? `${to}T23:59:59.999Z` : undefined,
    imported: source === '' ? undefined : source === 'imported',
    include_deleted: withDeleted || undefined,
  }
}

export function commandOf(filters: Filters): string[] {
  const { site, subject, label, answer, from, to, source, end, withDeleted } = filters
  const ofSite = ['list', ...option('site', site)]
  if (end) return [...ofSite, ...(end === 'expired' ? ['--expired'] : ['--expiring', end])]
  return [
    ...ofSite,
    ...option('subject', subject),
    ...option('consent-id', label),
    ...(answer ? [`--${answer}`] : []),
    ...(source ? [`--${source}`] : []),
    ...option('from', from),
    ...option('to', to),
    ...(withDeleted ? ['--include-deleted'] : []),
  ]
}
