import type { ConsentQuery } from '../../../../../src/contract/consents.ts'
import { type FilterName, filters } from '../../../../../src/contract/filters.ts'
import { option } from '../../parts/command.tsx'

/** Values of the form; empty means any. Times are UTC days, both included; booleans `true` or `false`. */
export interface Filters extends Readonly<Record<FilterName, string>> {
  /** `expired`, or the time until the end, such as `30d`. Disables all other filters but the site. */
  readonly end: string
  readonly withDeleted: boolean
}

export const noFilters: Filters = {
  ...(Object.fromEntries(filters.map(({ name }) => [name, ''])) as Record<FilterName, string>),
  end: '',
  withDeleted: false,
}

const dayTimes: Readonly<Record<string, string>> = { from: 'T00:00:00.000Z', to: 'T23:59:59.999Z' }

export function queryOf({ end, withDeleted, ...values }: Filters): ConsentQuery {
  const site_id = values.site_id || undefined
  if (end) return { site_id, expiry: end === 'expired' ? end : `P${end.toUpperCase()}` }
  const given = filters.filter(({ name }) => values[name] !== '')
  const query = given.map(({ name, kind }) => [
    name,
    kind === 'boolean' ? values[name] === 'true' : values[name] + (dayTimes[kind] ?? ''),
  ])
  return { ...Object.fromEntries(query), include_deleted: withDeleted || undefined }
}

export function commandOf({ end, withDeleted, ...values }: Filters): string[] {
  if (end)
    return ['list', ...option('site', values.site_id), ...(end === 'expired' ? ['--expired'] : ['--expiring', end])]
  const flags = filters.flatMap(({ name, kind, flag, negation }) => {
    const value = values[name]
    if (kind === 'boolean') return value ? [`--${value === 'true' ? flag : negation}`] : []
    return option(flag, value)
  })
  return ['list', ...flags, ...(withDeleted ? ['--include-deleted'] : [])]
}
