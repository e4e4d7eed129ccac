import type { StatsGroup, StatsQuery } from '../contract/stats.ts'
import type { Column, View } from '../output/index.ts'
import { field } from './field.ts'

export type StatsRow = StatsGroup & {
  /** Accepted of all: 0 to 1, four decimals. Null if hidden or without records. */
  readonly rate: number | null
  /** If false, `as_of` is the time until which all are counted, or null. */
  readonly complete: boolean
  readonly as_of: string | null
}

export function nameOf({ group }: StatsGroup, by: StatsQuery['by']): string {
  return group ?? (by === 'country' ? 'unknown' : 'all others')
}

const barLength = 10

/** `73.4 % ■■■■■■■□□□`. */
function bar(rate: number): string {
  const full = Math.round(rate * barLength)
  const percent = `${(rate * 100).toFixed(1)} %`.padStart(7)
  return `${percent} ${'■'.repeat(full)}${'□'.repeat(barLength - full)}`
}

/** All groupings have the same columns, for scripts; tables show those of `by`. */
export function statsView(by: StatsQuery['by']): View<StatsRow> {
  const isPreference = by === 'preference'
  const number = (name: keyof StatsRow, rank: number, isShown = true): Column<StatsRow> =>
    field(name, { whole: true, ...(isShown && { rank }) })
  const isOfSites = by === 'site' || by === 'policy'
  const group = field<StatsRow>('group', {
    title: by ?? 'group',
    ...(by !== undefined && by !== 'site' && { rank: 1 }),
    text: row => nameOf(row, by),
  })
  return {
    id: row => row.group ?? '',
    columns: [
      group,
      field('site_id', { whole: true, ...(isOfSites && { rank: 9 }) }),
      field('site_name', { title: 'site', ...(isOfSites && { rank: 1 }) }),
      number('records', 2),
      number('persons', 3, !isPreference),
      number('anonymous', 10, false),
      number('accepted', 4),
      number('refused', 5),
      number('withdrawn', 6),
      number('deleted', 8),
      field('rate', { whole: true, rank: 7, text: row => (row.rate === null ? '' : bar(row.rate)) }),
      field('hidden'),
      number('imported', 11),
    ],
  }
}
