import type { Sql } from 'postgres'
import { leastPersons, type Stats, type StatsQuery } from '../../src/contract/index.ts'
import { everySite } from './changes.ts'
import { findCountedUntil, findGroups, findSiteNames, type GroupRow } from './queries.ts'
import { type Hidden, hideSmall, hideSmallGroups } from './small-groups.ts'

/** No site has this id. */
const unusedId = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

export async function getStats(sql: Sql, accountId: string, query: StatsQuery): Promise<Stats> {
  const { by, site_id, exact = false } = query
  const [total, ...groups] = await findGroups(
    sql,
    accountId,
    site_id === everySite ? { ...query, site_id: unusedId } : query,
  )
  if (!total) throw new Error('the statistics have no total')
  const complete = total.uncounted === 0
  const asOf = complete ? null : await findCountedUntil(sql, accountId)
  const isOfSites = by === 'site' || by === 'policy'
  const names = isOfSites ? await findSiteNames(sql, accountId, [...new Set(groups.map(group => group.site_id))]) : null
  const hidden = exact ? [] : findHidden(total, groups, by === 'preference')
  const ofTotal = exact || total.records === 0 || sizeOf(total) >= leastPersons ? null : 'small'
  return {
    as_of: asOf?.toISOString() ?? null,
    complete,
    uncounted: total.uncounted,
    truncated: groups.some(group => group.is_rest),
    total: { ...numbersOf(total, ofTotal), imported: ofTotal ? null : total.imported },
    groups: groups.map((row, index) => ({
      group: groupName(row, by),
      site_id: names && !row.is_rest ? row.site_id : null,
      site_name: names?.get(row.site_id) ?? null,
      ...numbersOf(row, hidden[index] ?? null),
      ...(by === 'preference' && { persons: null, anonymous: null }),
      imported: hidden[index] ? null : row.imported,
    })),
  }
}

/** Without a subject, a record counts as one person. */
function sizeOf({ persons, anonymous }: GroupRow): number {
  return persons + anonymous
}

function findHidden(total: GroupRow, groups: readonly GroupRow[], isPreference: boolean): (Hidden | null)[] {
  if (isPreference) return hideSmall(groups.map(({ records }) => records))
  return hideSmallGroups(groups.map(sizeOf), sizeOf(total))
}

const hiddenNumbers = {
  records: null,
  persons: null,
  anonymous: null,
  accepted: null,
  refused: null,
  withdrawn: null,
  deleted: null,
}

function numbersOf(row: GroupRow, hidden: Hidden | null): Omit<Stats['total'], 'imported'> {
  if (hidden) return { ...hiddenNumbers, hidden }
  const { records, persons, anonymous, accepted, withdrawn, deleted } = row
  return { records, persons, anonymous, accepted, refused: records - accepted, withdrawn, deleted, hidden }
}

function groupName({ is_rest, value, site_id }: GroupRow, by: StatsQuery['by']): string | null {
  if (is_rest) return null
  if (by === 'site') return site_id
  if (by === 'month') return value.slice(0, 7)
  return value === '' && by === 'country' ? null : value
}
