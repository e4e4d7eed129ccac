import { useEffect, useMemo, useState } from 'preact/hooks'
import { api } from '../../../../src/contract/api.ts'
import type { Consent } from '../../../../src/contract/consents.ts'
import { type Loaded, useCall } from '../call.ts'
import { LongList } from '../parts/long-list.tsx'
import { Rows } from '../parts/rows.ts'
import { Screen } from '../parts/screen.tsx'
import { useSites } from '../parts/sites.tsx'
import { formatCount } from '../parts/text.tsx'
import { linkTo } from '../router.ts'
import { client, useSession } from '../session.ts'
import { Record } from './record.tsx'
import { columnsOf } from './records/columns.tsx'
import { commandOf, type Filters, noFilters, queryOf } from './records/filters.ts'
import { FilterForm } from './records/form.tsx'

/** `#/records` is the list, `#/records/ID` a record. */
export function Records({ params: [id] }: { readonly params: readonly string[] }) {
  return id ? <Record id={id} key={id} /> : <List />
}

interface View {
  readonly filters: Filters
  readonly rows: Rows<Consent>
  /** In pixels. */
  readonly place: { top: number }
}

/** The last list, kept for the way back from a record. In memory only, because filters name persons. */
let kept = viewOf(noFilters)

function viewOf(filters: Filters): View {
  const query = queryOf(filters)
  const rows = new Rows(cursor => client.call(api.consents.list, { query: { ...query, cursor, limit: 100 } }))
  return { filters, rows, place: { top: 0 } }
}

function List() {
  const [view, setView] = useState(kept)
  const { filters, rows, place } = view
  const { epoch } = useSession()
  const sites = useSites().value ?? []
  const columns = useMemo(() => columnsOf(filters, sites), [filters, sites])
  const count = useCall(
    async () => (filters.end ? undefined : await client.call(api.stats.count, { query: queryOf(filters) })),
    [filters],
  )
  useEffect(() => rows.refresh(), [epoch, rows])
  const apply = (wanted: Filters) => {
    kept = viewOf(wanted)
    setView(kept)
  }
  return (
    <Screen title="Records" command={commandOf(filters)}>
      <FilterForm filters={filters} onFilters={apply} error={count.error} />
      <p role="status">{sentenceOf(filters, count)}</p>
      {count.error !== undefined && (
        <p class="buttons">
          <button type="button" onClick={count.reload}>
            Count again
          </button>
        </p>
      )}
      <LongList
        label="Records"
        name="records"
        columns={columns}
        linkOf={({ id }) => linkTo('records', id)}
        rows={rows}
        total={countOf(count)}
        onRetry={count.reload}
        empty="No records."
        place={place}
        key={filters}
      />
    </Screen>
  )
}

type Count = Loaded<{ readonly count: number } | undefined>

/** Returns undefined if the count for these filters is not known. */
function countOf({ value, error, isLoading }: Count): number | undefined {
  return isLoading || error !== undefined ? undefined : value?.count
}

function sentenceOf({ end }: Filters, count: Count): string {
  if (end) return 'The soonest end is first.'
  if (count.isLoading) return 'Counting …'
  const number = countOf(count)
  return number === undefined ? 'The number is not known.' : formatCount(number, 'record')
}
