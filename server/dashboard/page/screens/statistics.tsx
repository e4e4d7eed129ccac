import { useState } from 'preact/hooks'
import { api } from '../../../../src/contract/api.ts'
import { groupings, type Stats, type StatsGroup, type StatsQuery } from '../../../../src/contract/stats.ts'
import { useCall } from '../call.ts'
import { type Bar, RankChart, TimeChart } from '../parts/chart.tsx'
import { option } from '../parts/command.tsx'
import { Check, Field, FieldErrors, Select } from '../parts/form.tsx'
import { fillPeriods, type Period, periods } from '../parts/periods.ts'
import { Problem } from '../parts/problem.tsx'
import { Screen, Show } from '../parts/screen.tsx'
import { SiteSelect, useSites } from '../parts/sites.tsx'
import { type Column, Table } from '../parts/table.tsx'
import { formatCount, formatNumber, formatTime, Id, Text } from '../parts/text.tsx'
import { client } from '../session.ts'

type By = StatsQuery['by']

const groupingOptions = [['', 'In all'] as const, ...groupings.map(by => [by, `By ${by}`] as const)]

export function Statistics() {
  const sites = useSites()
  const [site, setSite] = useState('')
  const [from, setFrom] = useState('')
  const [to, setTo] = useState('')
  const [by, setBy] = useState<By>('month')
  const [isExact, setExact] = useState(false)
  const query = {
    ...(site && { site_id: site }),
    ...(isTyped(from) && { from }),
    ...(isTyped(to) && { to }),
    ...(by && { by }),
    ...(isExact && { exact: true }),
  }
  const asked = JSON.stringify(query)
  const found = useCall(async () => ({ asked, by, answer: await client.call(api.stats.get, { query }) }), [asked])
  const command = [
    'stats',
    ...option('site', query.site_id),
    ...option('from', query.from),
    ...option('to', query.to),
    ...option('by', by),
    ...(isExact ? ['--exact'] : []),
  ]
  return (
    <Screen title="Statistics" command={command}>
      <div class="filters">
        <SiteSelect sites={sites.value ?? []} value={site} onValue={setSite} none="All sites" />
        <FieldErrors.Provider value={found.error}>
          <Field label="From (UTC day)" name="from" hint={hintOf(from)} type="date" value={from} onValue={setFrom} />
          <Field label="To (UTC day)" name="to" hint={hintOf(to)} type="date" value={to} onValue={setTo} />
        </FieldErrors.Provider>
        <Select
          label="Grouping"
          value={by ?? ''}
          onValue={value => setBy((value || undefined) as By)}
          options={groupingOptions}
        />
      </div>
      <Problem error={sites.error} retry={sites.reload} />
      <Check label="Exact: show groups of fewer than ten persons too" isChecked={isExact} onValue={setExact} />
      <Show of={found}>
        {value =>
          (value.asked === asked || found.error === undefined) && (
            <div class={value.asked === asked ? undefined : 'stale'} aria-busy={value.asked !== asked}>
              <Answer by={value.by} answer={value.answer} />
            </div>
          )
        }
      </Show>
    </Screen>
  )
}

/** Ignores years before 1900: the input reports 0002-01-31 while the user types 2026. */
function isTyped(day: string): boolean {
  return /^(19|[2-9]\d)\d\d-/.test(day)
}

function hintOf(day: string): string | undefined {
  return day === '' || isTyped(day) ? undefined : 'Not applied: the year must be 1900 or later, of four digits.'
}

function Answer({ by, answer }: { readonly by: By; readonly answer: Stats }) {
  const { total, groups } = answer
  const names = by === 'preference' ? (['true', 'false'] as const) : (['accepted', 'refused'] as const)
  return (
    <>
      <p role="status">{describe(answer)}</p>
      {!total.hidden && <Total of={total} />}
      {by && groups.length > 0 && (
        <>
          {isPeriod(by) ? (
            <TimeChart bars={overTime(by, groups)} names={names} />
          ) : (
            <RankChart bars={groups.map(group => toBar(by, group))} names={names} />
          )}
          <Table
            label={`Records by ${by}`}
            columns={columnsOf(by)}
            rows={groups}
            rowKey={keyOf}
            empty=""
            isFromEnd={isPeriod(by)}
          />
        </>
      )}
      <p class="hint">
        Counted are the records created in these days, deleted ones included: no number changes by a purge. Accepted is
        given now, for one purpose at least if any was named; withdrawn was accepted once; the rate is accepted of all,
        or true of a preference. A person is a subject id. Imported records count on the day of their import.
      </p>
    </>
  )
}

/** Uses the wording of `consentctl stats`. */
function describe({ total, groups, complete, uncounted, as_of }: Stats): string {
  const all =
    total.records === null
      ? 'In all fewer than ten persons.'
      : `In all ${formatCount(total.records, 'record')} of ${formatCount(total.persons ?? 0, 'person')}.`
  const [small = 0, more = 0] = ['small', 'remainder'].map(why => groups.filter(row => row.hidden === why).length)
  const others = more ? `, and ${formatNumber(more)} more that would tell their numbers` : ''
  const hidden = small ? ` ${formatCount(small, 'group')} hidden: fewer than ten persons${others}.` : ''
  const until = as_of === null ? '' : `Counted until ${formatTime(as_of)}; `
  const state = complete ? 'Everything is counted.' : `${until}${formatCount(uncounted ?? 0, 'event')} not counted yet.`
  return `${all}${hidden} ${state}`
}

const figures = ['records', 'persons', 'anonymous', 'accepted', 'refused', 'withdrawn', 'deleted', 'imported'] as const

function Total({ of: total }: { readonly of: Stats['total'] }) {
  return (
    <dl class="figures">
      {figures.map(name => (
        <div key={name}>
          <dt>{capital(name)}</dt>
          <dd>{formatNumber(total[name] ?? 0)}</dd>
        </div>
      ))}
    </dl>
  )
}

function columnsOf(by: NonNullable<By>): Column<StatsGroup>[] {
  const isPreference = by === 'preference'
  const size = isPreference ? 'records' : 'persons'
  const numbers = isPreference ? (['records', 'deleted', 'true', 'false', 'imported'] as const) : figures
  const column = (name: (typeof figures)[number] | 'true' | 'false'): Column<StatsGroup> => ({
    title: capital(name),
    isNumber: true,
    cell: row => (name === size && row.hidden ? (row.hidden === 'small' ? '<10' : 'hidden') : format(row[name])),
  })
  const site = { title: 'Site', cell: ({ site_name }: StatsGroup) => <Text of={site_name} /> }
  const group = { title: capital(by), cell: (row: StatsGroup) => <Text of={row.group ?? unnamed(by)} /> }
  return [
    ...(by === 'site' ? [site] : by === 'policy' ? [site, group] : [group]),
    ...numbers.map(column),
    { title: 'Rate', isNumber: true, cell: rateOf },
    ...(by === 'site' || by === 'policy'
      ? [{ title: 'Site id', cell: ({ site_id }: StatsGroup) => <Id of={site_id ?? ''} /> }]
      : []),
  ]
}

function capital(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1)
}

function format(value: number | null): string {
  return value === null ? '' : formatNumber(value)
}

/** Returns an empty text for hidden groups and those without answers. */
function rateOf(row: StatsGroup): string {
  const { yes, no } = toBar(undefined, row)
  const all = (yes ?? 0) + (no ?? 0)
  return all === 0 ? '' : `${(((yes ?? 0) / all) * 100).toFixed(1)} %`
}

/** Names the group without a name: of an unknown country, or the sum of all that are not listed. */
function unnamed(by: By): string {
  return by === 'country' ? 'unknown' : 'all others'
}

function keyOf({ group, site_id }: StatsGroup): string {
  return `${site_id} ${group}`
}

function toBar(by: By, row: StatsGroup): Bar {
  const [yes, no] = row.true === null ? [row.accepted, row.refused] : [row.true, row.false]
  const label = row.group ?? unnamed(by)
  const site = row.site_name ?? ''
  return { key: keyOf(row), label: by === 'site' ? site : by === 'policy' ? `${site} · ${label}` : label, yes, no }
}

function isPeriod(by: NonNullable<By>): by is Period {
  return (periods as readonly string[]).includes(by)
}

function overTime(by: Period, groups: readonly StatsGroup[]): Bar[] {
  const found = new Map(groups.map(row => [row.group ?? '', row]))
  return fillPeriods(by, [...found.keys()]).map(group => {
    const row = found.get(group)
    return row ? toBar(by, row) : { key: group, label: group, yes: 0, no: 0 }
  })
}
