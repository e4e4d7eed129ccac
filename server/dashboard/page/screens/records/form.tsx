import { useState } from 'preact/hooks'
import { type FilterKind, filters } from '../../../../../src/contract/filters.ts'
import { isUuid } from '../../../../../src/contract/uuid.ts'
import { useAction } from '../../call.ts'
import { Check, Field, Form, Select } from '../../parts/form.tsx'
import { Mistake } from '../../parts/problem.tsx'
import { SiteSelect, useSites } from '../../parts/sites.tsx'
import { linkTo } from '../../router.ts'
import { type Filters, noFilters } from './filters.ts'

interface FilterFormProps {
  readonly filters: Filters
  readonly onFilters: (filters: Filters) => void
  /** The count's error, which names rejected filters. */
  readonly error: unknown
}

/** The filters of `consentctl list`, and a field that opens a record by its id. */
export function FilterForm({ filters: shown, onFilters, error }: FilterFormProps) {
  const sites = useSites().value ?? []
  const [draft, setDraft] = useState(shown)
  const [id, setId] = useState('')
  const set = (change: Partial<Filters>) => setDraft({ ...draft, ...change })
  const action = useAction(async () => {
    if (id === '') return onFilters(draft)
    if (!isUuid(id.trim())) throw new Mistake('An id is of the form 01939d2c-7b1a-7c3e-9a51-2f6a1f0d9b11.')
    location.hash = linkTo('records', id.trim())
  })
  const clear = () => {
    setId('')
    setDraft(noFilters)
    onFilters(noFilters)
  }
  return (
    <Form
      action={action}
      error={error}
      submit="Show"
      more={
        <button type="button" onClick={clear}>
          Clear
        </button>
      }
    >
      <div class="filters pairs">
        <SiteSelect sites={sites} value={draft.site_id} onValue={site_id => set({ site_id })} none="All sites" />
        <Select label="Validity" value={draft.end} onValue={end => set({ end })} options={ends} />
        {draft.end === '' && <FilterFields filters={usual} draft={draft} set={set} />}
      </div>
      <details open={hasMore(shown)}>
        <summary>More filters</summary>
        <div class="filters">
          {draft.end === '' && (
            <>
              <FilterFields filters={others} draft={draft} set={set} />
              <Check
                label="Deleted records, too"
                isChecked={draft.withDeleted}
                onValue={withDeleted => set({ withDeleted })}
              />
            </>
          )}
          <Field label="Id of a record" value={id} onValue={setId} />
        </div>
      </details>
    </Form>
  )
}

const isBound = (kind: FilterKind) => kind === 'from' || kind === 'to'
const usual = filters.filter(({ kind, isRare }) => !isRare && kind !== 'site' && !isBound(kind))
const others = filters.filter(({ kind, isRare }) => isRare || isBound(kind))

interface FilterFieldsProps {
  readonly filters: typeof filters
  readonly draft: Filters
  readonly set: (change: Partial<Filters>) => void
}

function FilterFields({ filters, draft, set }: FilterFieldsProps) {
  return filters.map(({ name, kind, label, choices = [] }) => {
    const common = { label, value: draft[name], onValue: (value: string) => set({ [name]: value }) }
    const options = choices.map((text, index) => [['', 'true', 'false'][index] ?? '', text] as const)
    if (kind === 'boolean') return <Select key={name} {...common} options={options} />
    return <Field key={name} {...common} name={name} type={isBound(kind) ? 'date' : 'text'} />
  })
}

function hasMore(draft: Filters): boolean {
  return draft.withDeleted || others.some(({ name }) => draft[name] !== '')
}

const ends = [
  ['', 'All records'],
  ['7d', 'Ends within 7 days'],
  ['30d', 'Ends within 30 days'],
  ['90d', 'Ends within 90 days'],
  ['expired', 'Has ended'],
] as const
