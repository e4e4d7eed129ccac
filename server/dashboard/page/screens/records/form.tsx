import { useState } from 'preact/hooks'
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
export function FilterForm({ filters, onFilters, error }: FilterFormProps) {
  const sites = useSites().value ?? []
  const [draft, setDraft] = useState(filters)
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
        <SiteSelect sites={sites} value={draft.site} onValue={site => set({ site })} none="All sites" />
        <Select label="Validity" value={draft.end} onValue={end => set({ end })} options={ends} />
        {draft.end === '' && <Plain draft={draft} set={set} />}
      </div>
      <details open={hasMore(filters)}>
        <summary>More filters</summary>
        <div class="filters">
          {draft.end === '' && <More draft={draft} set={set} />}
          <Field label="Id of a record" value={id} onValue={setId} />
        </div>
      </details>
    </Form>
  )
}

interface PartProps {
  readonly draft: Filters
  readonly set: (change: Partial<Filters>) => void
}

function Plain({ draft, set }: PartProps) {
  return (
    <>
      <Field label="Subject (exact)" name="subject_id" value={draft.subject} onValue={subject => set({ subject })} />
      <Select
        label="Accepted"
        value={draft.answer}
        onValue={answer => set({ answer: answer as Filters['answer'] })}
        options={answers}
      />
    </>
  )
}

function More({ draft, set }: PartProps) {
  return (
    <>
      <Field label="Label" name="consent_id" value={draft.label} onValue={label => set({ label })} />
      <Field label="Created from (UTC)" name="from" type="date" value={draft.from} onValue={from => set({ from })} />
      <Field label="Created until (UTC)" name="to" type="date" value={draft.to} onValue={to => set({ to })} />
      <Select
        label="Source"
        value={draft.source}
        onValue={source => set({ source: source as Filters['source'] })}
        options={sources}
      />
      <Check label="Deleted records, too" isChecked={draft.withDeleted} onValue={withDeleted => set({ withDeleted })} />
    </>
  )
}

function hasMore({ label, from, to, source, withDeleted }: Filters): boolean {
  return Boolean(label || from || to || source || withDeleted)
}

const answers = [
  ['', 'Yes or no'],
  ['accepted', 'Yes'],
  ['refused', 'No'],
] as const

const sources = [
  ['', 'All records'],
  ['imported', 'Imported'],
  ['witnessed', 'Not imported'],
] as const

const ends = [
  ['', 'All records'],
  ['7d', 'Ends within 7 days'],
  ['30d', 'Ends within 30 days'],
  ['90d', 'Ends within 90 days'],
  ['expired', 'Has ended'],
] as const
