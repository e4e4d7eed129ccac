import { useState } from 'preact/hooks'
import { api } from '../../../../src/contract/api.ts'
import { groupings, type Stats, type StatsGroup, type StatsQuery } from '../../../../src/contract/stats.ts'
import { useCall } from '../call.ts'
import { Button } from '../parts/button.tsx'
import { options } from '../parts/command.tsx'
import { Check, Field, Form, fieldsOf, Select } from '../parts/form.tsx'
import { Problem } from '../parts/problem.tsx'
import { Screen } from '../parts/screen.tsx'
import { SiteSelect, useSites } from '../parts/sites.tsx'
import { type Columns, Details, Table } from '../parts/table.tsx'
import { dayIn, formatCount, formatNumber, formatRate, formatTime, Id, Text } from '../parts/text.tsx'
import { client } from '../session.ts'

type By = NonNullable<StatsQuery['by']>

const groupingOptions = [['', 'In all'] as const, ...groupings.map(by => [by, `By ${by}`] as const)]

const noFilters = { site: '', from: '', to: '', by: 'month' as By | '', exact: false }

/** Days up to today. */
const presets = [
  ['7 days', 7, 'day'],
  ['30 days', 30, 'day'],
  ['Quarter', 91, 'week'],
  ['Year', 365, 'month'],
] as const

export function Statistics() {
  const sites = useSites()
  const [draft, setDraft] = useState(noFilters)
  const [filters, setFilters] = useState(noFilters)
  const field = fieldsOf(draft, setDraft)
  const { value, error, isLoading, reload } = useCall(() => readStatistics(filters), [filters])
  const showLast = (days: number, by: By) => {
    const next = { ...draft, from: dayIn(1 - days), to: dayIn(0), by }
    setDraft(next)
    setFilters(next)
  }
  return (
    <Screen title="Statistics" command={['stats', ...options(filters)]}>
      <Form run={async () => setFilters({ ...draft })} error={error} submit="Show">
        <div class="filters">
          <SiteSelect sites={sites.value ?? []} none="All sites" {...field('site')} />
          <Field label="From (UTC day)" type="date" {...field('from')} />
          <Field label="To (UTC day)" type="date" {...field('to')} />
          <Select label="Grouping" options={groupingOptions} {...field('by')} />
        </div>
        <Check label="Exact: show groups of fewer than ten persons too" {...field('exact')} />
      </Form>
      <p class="buttons">
        {presets.map(([text, days, by]) => (
          <Button key={text} text={text} kind="small" onClick={() => showLast(days, by)} />
        ))}
      </p>
      <Problem error={sites.error} retry={sites.reload} />
      <Problem error={error} retry={reload} />
      {isLoading && <p role="status">Loading …</p>}
      {value && !isLoading && !error && <Answer {...value} />}
    </Screen>
  )
}

async function readStatistics({ site, from, to, by, exact }: typeof noFilters) {
  const filters = { site_id: site || undefined, from: from || undefined, to: to || undefined }
  const query = { ...filters, by: by || undefined, exact: exact || undefined }
  return { by: query.by, answer: await client.call(api.stats.get, { query }) }
}

function Answer({ by, answer }: { readonly by: By | undefined; readonly answer: Stats }) {
  const { total, groups } = answer
  return (
    <>
      <p role="status">{describe(answer)}</p>
      {!total.hidden && (
        <Details
          class="figures"
          of={Object.fromEntries(figures.map(name => [capital(name), formatNumber(total[name] ?? 0)]))}
        />
      )}
      {by && groups.length > 0 && (
        <Table
          label={`Records by ${by}`}
          columns={columnsOf(by, Math.max(...groups.map(({ records }) => records ?? 0)))}
          rows={['day', 'week', 'month'].includes(by) ? groups.toReversed() : groups}
        />
      )}
      <p class="hint">
        Counts the records created on these days, including deleted ones, so that a purge changes no number. Accepted:
        given now: by preference for that purpose, else for at least one of those of its notice, or of any if that names
        none. Withdrawn: refused now, given once. Rate: accepted of all. A person is a subject id. Imported records
        count on the day of their import.
      </p>
    </>
  )
}

function describe({ total, groups, complete, uncounted, as_of }: Stats): string {
  const few = complete ? 'fewer than ten persons' : 'fewer than ten persons counted so far'
  const all =
    total.records === null
      ? `In all ${few}.`
      : `In all ${formatCount(total.records, 'record')} of ${formatCount(total.persons ?? 0, 'person')}.`
  const [small = 0, more = 0] = ['small', 'remainder'].map(why => groups.filter(row => row.hidden === why).length)
  const others = more ? `, and ${formatNumber(more)} more because their totals would reveal small groups` : ''
  const hidden = small ? ` ${formatCount(small, 'group')} hidden: ${few}${others}.` : ''
  const until = as_of === null ? '' : `Counted until ${formatTime(as_of)}; `
  const state = complete ? 'Everything is counted.' : `${until}${formatCount(uncounted ?? 0, 'event')} not counted yet.`
  return `${all}${hidden} ${state}`
}

const figures = ['records', 'persons', 'anonymous', 'accepted', 'refused', 'withdrawn', 'deleted', 'imported'] as const

/** `most`: records of the largest group. Screen readers skip the bars, which repeat a number in the row. */
function columnsOf(by: By, most: number): Columns<StatsGroup> {
  const isPreference = by === 'preference'
  const size = isPreference ? 'records' : 'persons'
  const numbers = isPreference ? figures.filter(name => name !== 'persons' && name !== 'anonymous') : figures
  const cell = (name: (typeof numbers)[number]) => (row: StatsGroup) =>
    name === size && row.hidden ? (row.hidden === 'small' ? '<10' : 'hidden') : row[name]
  return {
    ...((by === 'site' || by === 'policy') && { Site: row => <Text of={row.site_name} /> }),
    ...(by !== 'site' && { [capital(by)]: row => <Text of={row.group ?? unnamed(by)} /> }),
    ...Object.fromEntries(numbers.map(name => [capital(name), cell(name)])),
    Rate: formatRate,
    'Of the largest': row => (row.records ? <progress aria-hidden="true" max={most} value={row.records} /> : ''),
    ...((by === 'site' || by === 'policy') && { 'Site id': row => <Id of={row.site_id ?? ''} /> }),
  }
}

function capital(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1)
}

/** Unknown, or the sum of the groups not listed. */
function unnamed(by: By): string {
  return by === 'country' ? 'unknown' : 'all others'
}
