import { useState } from 'preact/hooks'
import type { ConsentQuery } from '../../../../src/contract/consents.ts'
import { type FilterKind, type FilterName, filters } from '../../../../src/contract/filters.ts'
import { isUuid } from '../../../../src/contract/uuid.ts'
import { Button } from '../parts/button.tsx'
import { options } from '../parts/command.tsx'
import { Check, Field, Form, fieldsOf, Select } from '../parts/form.tsx'
import { Mistake } from '../parts/problem.tsx'
import { SiteSelect, useSites } from '../parts/sites.tsx'
import { linkTo } from '../router.ts'

/** Empty means any. Times are UTC days, both included. */
export const noFilters = {
  ...(Object.fromEntries(filters.map(({ name }) => [name, ''])) as Record<FilterName, string>),
  /** `expired`, or the time until the end, such as `30d`. Disables all other filters but the site. */
  end: '',
  deleted: false,
}

export type Filters = typeof noFilters

const dayTimes: Readonly<Record<string, string>> = { from: 'T00:00:00.000Z', to: 'T23:59:59.999Z' }

export function queryOf({ end, deleted, ...values }: Filters): ConsentQuery {
  const site_id = values.site_id || undefined
  if (end) return { site_id, expiry: end === 'expired' ? end : `P${end.toUpperCase()}` }
  const given = filters.filter(({ name }) => values[name] !== '')
  const query = given.map(({ name, kind }) => [
    name,
    kind === 'boolean' ? values[name] === 'true' : values[name] + (dayTimes[kind] ?? ''),
  ])
  return { ...Object.fromEntries(query), include_deleted: deleted || undefined }
}

export function commandOf({ end, deleted, ...values }: Filters): string[] {
  const isExpired = end === 'expired'
  if (end) return ['list', ...options({ site: values.site_id, expired: isExpired, expiring: !isExpired && end })]
  const flags = filters.map(({ name, kind, flag, negation }) => {
    const value = values[name]
    if (kind === 'boolean') return { [value === 'true' ? flag : `${negation}`]: value !== '' }
    return { [flag]: value }
  })
  return ['list', ...flags.flatMap(options), ...options({ 'include-deleted': deleted })]
}

interface FilterFormProps {
  readonly filters: Filters
  readonly onFilters: (filters: Filters) => void
  /** Names rejected filters. */
  readonly error: unknown
}

export function FilterForm({ filters: shown, onFilters, error }: FilterFormProps) {
  const sites = useSites().value ?? []
  const [draft, setDraft] = useState(shown)
  const [id, setId] = useState('')
  const field = fieldsOf(draft, setDraft)
  const run = async () => {
    if (id === '') return onFilters(draft)
    if (!isUuid(id.trim())) throw new Mistake('An id is of the form 01939d2c-7b1a-7c3e-9a51-2f6a1f0d9b11.')
    location.hash = linkTo('records', id.trim())
  }
  const clear = () => {
    setId('')
    setDraft(noFilters)
    onFilters(noFilters)
  }
  const inputs = (list: typeof filters) =>
    list.map(({ name, kind, label, choices = [] }) => {
      const values = choices.map((text, index) => [['', 'true', 'false'][index] ?? '', text] as const)
      if (kind === 'boolean') return <Select key={name} label={label} options={values} {...field(name)} />
      return <Field key={name} label={label} type={isBound(kind) ? 'date' : 'text'} {...field(name)} />
    })
  return (
    <Form run={run} error={error} submit="Show" more={<Button text="Clear" onClick={clear} />}>
      <div class="filters">
        <SiteSelect sites={sites} none="All sites" {...field('site_id')} />
        <Select label="Validity" options={ends} {...field('end')} />
        {draft.end === '' && inputs(usual)}
      </div>
      <details open={shown.deleted || others.some(({ name }) => shown[name] !== '')}>
        <summary>More filters</summary>
        <div class="filters">
          {draft.end === '' && inputs(others)}
          {draft.end === '' && <Check label="Deleted records, too" {...field('deleted')} />}
          <Field label="Id of a record" value={id} onValue={setId} />
        </div>
      </details>
    </Form>
  )
}

const isBound = (kind: FilterKind) => kind === 'from' || kind === 'to'
const usual = filters.filter(({ kind, isRare }) => !isRare && kind !== 'site' && !isBound(kind))
const others = filters.filter(({ kind, isRare }) => isRare || isBound(kind))

const ends = [
  ['', 'All records'],
  ['7d', 'Ends within 7 days'],
  ['30d', 'Ends within 30 days'],
  ['90d', 'Ends within 90 days'],
  ['expired', 'Has ended'],
] as const
