import { useMemo, useState } from 'preact/hooks'
import { api } from '../../../../src/contract/api.ts'
import type { Consent } from '../../../../src/contract/consents.ts'
import type { Site } from '../../../../src/contract/sites.ts'
import { visible } from '../../../../src/output/safe.ts'
import { type Loaded, useCall } from '../call.ts'
import { PagedTable, type Place, usePages } from '../parts/paged-table.tsx'
import { Consented, formatValue } from '../parts/preferences.tsx'
import { Screen } from '../parts/screen.tsx'
import { useSites } from '../parts/sites.tsx'
import type { Columns } from '../parts/table.tsx'
import { Answered, formatCount, Id, Link, Tag, Text, Time } from '../parts/text.tsx'
import { client } from '../session.ts'
import { Record } from './record.tsx'
import { commandOf, FilterForm, type Filters, noFilters, queryOf } from './records-filters.tsx'

export function Records({ params: [id] }: { readonly params: readonly string[] }) {
  return id ? <Record id={id} key={id} /> : <List />
}

/** The last list, kept for returning from a record. In memory only, because filters name persons. */
const kept: { filters: Filters; place: Place } = { filters: noFilters, place: { of: null, cursors: [] } }

function List() {
  const [filters, setFilters] = useState(kept.filters)
  const query = queryOf(filters)
  const sites = useSites().value ?? []
  const columns = useMemo(() => columnsOf(filters, sites), [filters, sites])
  const count = useCall(
    async () => (filters.end ? undefined : await client.call(api.stats.count, { query })),
    [filters],
  )
  const pages = usePages(
    async cursor => await client.call(api.consents.list, { query: { ...query, ...cursor } }),
    filters,
    kept,
  )
  const apply = (wanted: Filters) => {
    kept.filters = { ...wanted } // counts and reads again even if they are the same
    setFilters(kept.filters)
  }
  return (
    <Screen title="Records" command={commandOf(filters)}>
      <FilterForm filters={filters} onFilters={apply} error={count.error} />
      <p role="status">{sentenceOf(filters, count)}</p>
      <PagedTable
        label="Records"
        columns={columns}
        pages={pages}
        empty="No records."
        emptyPage="No records on this page. Older ones may match."
      />
    </Screen>
  )
}

type Count = Loaded<{ readonly count: number } | undefined>

function sentenceOf({ end }: Filters, { value, error, isLoading }: Count): string {
  if (end) return 'The soonest end is first.'
  if (isLoading) return 'Counting …'
  return error === undefined && value ? formatCount(value.count, 'record') : 'The number is not known.'
}

/** Shows the time used by the filters instead of the creation time. */
function columnsOf({ end, imported }: Filters, sites: readonly Site[]): Columns<Consent> {
  const names = new Map(sites.map(({ id, name }) => [id, name]))
  const isImported = imported === 'true'
  return {
    Subject: ({ id, subject_id }) => (
      <Link to={['records', id]}>
        {subject_id ?? (
          <>
            <Text of={null} /> (<Id of={id} />)
          </>
        )}
      </Link>
    ),
    Consent: row => (row.deleted_at ? <Tag tone="plain">deleted</Tag> : <Consented of={row} />),
    [end ? 'Valid until' : isImported ? 'Answered, as imported' : 'Created']: row =>
      end ? <Time at={row.expires_at} /> : <Answered of={row} />,
    Site: row => <Text of={names.get(row.site_id ?? '') ?? row.site_id} />,
    [isImported ? 'Imported from' : 'Label']: row => <Text of={isImported ? row.origin?.system : row.consent_id} />,
    Policy: row => String(row.policy_version),
    Preferences: row => <Brief of={row.preferences} />,
  }
}

/** In characters. */
const briefLength = 200

function Brief({ of }: { readonly of: Consent['preferences'] }) {
  const pairs = Object.entries(of ?? {}).map(([name, value]) => `${visible(name)}: ${formatValue(value)}`)
  const text = [...pairs.join(', ')]
  if (text.length <= briefLength)
    return pairs.length === 0 ? <span class="none">none</span> : <bdi>{text.join('')}</bdi>
  return <bdi>{text.slice(0, briefLength).join('')} …</bdi>
}
