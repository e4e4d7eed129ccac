import { useEffect, useMemo, useState } from 'preact/hooks'
import { api } from '../../../../src/contract/api.ts'
import type { Consent } from '../../../../src/contract/consents.ts'
import type { Site } from '../../../../src/contract/sites.ts'
import { visible } from '../../../../src/output/safe.ts'
import { type Loaded, useCall } from '../call.ts'
import { Button } from '../parts/button.tsx'
import { LongList } from '../parts/long-list.tsx'
import { Consented, formatValue } from '../parts/preferences.tsx'
import { Rows } from '../parts/rows.ts'
import { Screen } from '../parts/screen.tsx'
import { useSites } from '../parts/sites.tsx'
import type { Columns } from '../parts/table.tsx'
import { Answered, formatCount, Id, Tag, Text, Time } from '../parts/text.tsx'
import { linkTo } from '../router.ts'
import { client, useSession } from '../session.ts'
import { Record } from './record.tsx'
import { commandOf, FilterForm, type Filters, noFilters, queryOf } from './records-filters.tsx'

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
          <Button text="Count again" onClick={count.reload} />
        </p>
      )}
      <LongList
        label="Records"
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

/** Shows the time that the filters select by in place of the creation. */
function columnsOf({ end, imported }: Filters, sites: readonly Site[]): Columns<Consent> {
  const names = new Map(sites.map(({ id, name }) => [id, name]))
  const isImported = imported === 'true'
  return {
    Subject: row => (row.subject_id ? <Text of={row.subject_id} /> : <NoSubject id={row.id} />),
    Consent: row => (row.deleted_at ? <Tag tone="plain">deleted</Tag> : <Consented of={row} />),
    [end ? 'Valid until' : isImported ? 'Answered, as imported' : 'Created']: row =>
      end ? <Time at={row.expires_at} /> : <Answered of={row} />,
    Site: row => <Text of={names.get(row.site_id ?? '') ?? row.site_id} />,
    [isImported ? 'Imported from' : 'Label']: row => <Text of={isImported ? row.origin?.system : row.consent_id} />,
    Policy: row => String(row.policy_version),
    Preferences: row => <Brief of={row.preferences} />,
  }
}

/** Includes the id, because the cell is the link to the record. */
function NoSubject({ id }: Pick<Consent, 'id'>) {
  return (
    <>
      <Text of={null} /> (<Id of={id} />)
    </>
  )
}

function Brief({ of }: { readonly of: Consent['preferences'] }) {
  const pairs = Object.entries(of ?? {}).map(([name, value]) => `${visible(name)}: ${formatValue(value)}`)
  return pairs.length === 0 ? <span class="none">none</span> : <bdi>{pairs.join(', ')}</bdi>
}
