import type { Sql } from 'postgres'
import { leastPersons, type Stats, type StatsQuery } from '../../src/contract/index.ts'
import { type Reach, reaches } from '../db/reach.ts'
import { Failure } from '../failure.ts'
import { everySite } from './changes.ts'
import { findCountedUntil, findGroups, findSiteNames, type GroupRow } from './queries.ts'
import { type Hidden, hideSmall, hideSmallGroups } from './small-groups.ts'

/** No site has this id. */
const unusedId = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

/**
 * Persons are not the sum of those of several sites, so a caller who reaches only some asks for one.
 * @throws Failure `invalid_request`
 */
export async function getStats(sql: Sql, reach: Reach, query: StatsQuery): Promise<Stats> {
  const { accountId } = reach
  const { by, exact = false } = query
  const site_id = findSite(reach, query)
  const [total, ...groups] = await findGroups(sql, accountId, { ...query, site_id })
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

function findSite(reach: Reach, { site_id }: StatsQuery): string | undefined {
  const { siteIds } = reach
  if (site_id !== undefined) return site_id === everySite || !reaches(reach, site_id) ? unusedId : site_id
  if (siteIds === null || siteIds.length === 1) return siteIds?.[0]
  throw new Failure('invalid_request', 'site_id: is needed, because the API key is restricted to several sites')
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
