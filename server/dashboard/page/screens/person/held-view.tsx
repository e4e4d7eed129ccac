import { useState } from 'preact/hooks'
import type { Consent, DataSubjectRequest } from '../../../../../src/contract/index.ts'
import type { NearMatch } from '../../../../../src/erasure/near.ts'
import { countBySite } from '../../../../../src/erasure/records.ts'
import { useAction, useCall, useRequireShown } from '../../call.ts'
import { download } from '../../parts/download.ts'
import { ActionButton } from '../../parts/form.tsx'
import { Problem } from '../../parts/problem.tsx'
import { Heading, Show } from '../../parts/screen.tsx'
import { useSites } from '../../parts/sites.tsx'
import { Table } from '../../parts/table.tsx'
import { formatCount, formatNumber, Text } from '../../parts/text.tsx'
import { useMayChange } from '../../session.ts'
import { EraseForm } from './erase-form.tsx'
import { type Held, readExport, readHeld } from './held.ts'
import { Records, SiteName } from './records.tsx'

interface HeldViewProps {
  readonly subjects: readonly string[]
  readonly find: (subjects: readonly string[]) => void
}

/** Shows all data held on a person. The caller mounts it anew for each search, so that it never mixes two persons. */
export function HeldView({ subjects, find }: HeldViewProps) {
  const [count, setCount] = useState(0)
  const held = useCall(() => readHeld(subjects, setCount), [])
  return (
    <>
      <Heading>Held</Heading>
      <p role="status">
        {held.value ? describeHeld(held.value.records) : count > 0 && `${formatCount(count, 'record')} read …`}
      </p>
      <Show of={held}>{value => <HeldParts held={value} subjects={subjects} find={find} />}</Show>
    </>
  )
}

function HeldParts({ held, subjects, find }: HeldViewProps & { readonly held: Held }) {
  const mayChange = useMayChange()
  const sites = useSites().value ?? []
  const { records, near, requests } = held
  const live = records.filter(({ deleted_at }) => deleted_at === null)
  const [answered, setAnswered] = useState<DataSubjectRequest | null>(null)
  const include = (more: readonly string[]) => find([...new Set([...subjects, ...more])])
  return (
    <>
      {records.length > 0 && <SiteTable records={records} sites={sites} />}
      <NearMatches near={near} include={include} />
      <h2>Records</h2>
      <Records
        label="Records"
        records={records}
        sites={sites}
        empty="No matching records. Identifiers must match exactly, including case and spaces."
      />
      <Export subjects={subjects} key={JSON.stringify(subjects)} />
      <Requests
        requests={requests}
        mayAnswer={mayChange}
        answer={request => {
          const more = (request.subject_ids ?? []).filter(each => !subjects.includes(each))
          if (more.length > 0) include(more)
          else setAnswered(request)
        }}
        subjects={subjects}
      />
      {mayChange ? (
        <EraseForm
          key={answered?.id ?? ''}
          subjects={subjects}
          live={live}
          deleted={records.length - live.length}
          near={near.length}
          request={answered}
        />
      ) : (
        <p class="hint">Only an owner can erase.</p>
      )}
    </>
  )
}

function describeHeld(records: readonly Consent[]): string {
  const gone = records.filter(({ deleted_at }) => deleted_at !== null).length
  const deleted = gone === 0 ? 'none' : formatNumber(gone)
  const still = gone === 0 ? '' : `, which hold${gone === 1 ? 's' : ''} data until purged`
  return `${formatCount(records.length - gone, 'live record')}, and ${deleted} deleted${still}. Purged ones are not found.`
}

type Sites = Parameters<typeof SiteName>[0]['sites']

function SiteTable({ records, sites }: { readonly records: readonly Consent[]; readonly sites: Sites }) {
  const live = countBySite(records.filter(({ deleted_at }) => deleted_at === null))
  return (
    <Table
      label="Records by site"
      columns={[
        { title: 'Site', cell: ([site]) => <SiteName sites={sites} id={site} /> },
        { title: 'Live', cell: ([site]) => formatNumber(live.get(site) ?? 0), isNumber: true },
        { title: 'Deleted', cell: ([site, count]) => formatNumber(count - (live.get(site) ?? 0)), isNumber: true },
      ]}
      rows={[...countBySite(records)]}
      rowKey={([site]) => site ?? ''}
      empty=""
    />
  )
}

interface NearMatchesProps {
  readonly near: readonly NearMatch[]
  readonly include: (subjects: readonly string[]) => void
}

function NearMatches({ near, include }: NearMatchesProps) {
  if (near.length === 0) return null
  return (
    <>
      <h2>Near matches</h2>
      <p class="hint">
        These differ only in case, blanks around them or Unicode form. They are not part of this, and never erased
        unless you add them.
      </p>
      <Table
        label="Near matches"
        columns={[
          { title: 'Identifier', cell: ({ subject_id }) => <Text of={subject_id} /> },
          { title: 'Near to', cell: ({ given }) => <Text of={given} /> },
          { title: 'Live', cell: ({ live }) => formatNumber(live), isNumber: true },
          { title: 'Deleted', cell: ({ deleted }) => formatNumber(deleted), isNumber: true },
          {
            title: 'Add',
            cell: ({ subject_id }) => (
              <button type="button" class="small" onClick={() => include([subject_id])}>
                Add to this person
              </button>
            ),
          },
        ]}
        rows={near}
        rowKey={({ subject_id }) => subject_id}
        empty=""
      />
    </>
  )
}

/** Downloads the file that `subject export` writes, without its signed manifest. */
function Export({ subjects }: { readonly subjects: readonly string[] }) {
  const [count, setCount] = useState(0)
  const requireShown = useRequireShown() // the user may have searched for another person
  const exporting = useAction(async () => {
    setCount(0)
    const text = await readExport(subjects, read => {
      requireShown()
      setCount(read)
    })
    requireShown()
    download(text, 'person.json', 'application/json')
  })
  return (
    <>
      <p class="buttons">
        <ActionButton action={exporting}>Export everything</ActionButton>
        {exporting.isRunning && <span role="status">{formatCount(count, 'record')} read …</span>}
      </p>
      <p class="hint">
        All records with their histories, as one JSON document. It is not signed: consentctl subject export writes the
        same, with a signed manifest.
      </p>
      <Problem error={exporting.error} />
    </>
  )
}

interface RequestsProps {
  readonly requests: readonly DataSubjectRequest[]
  readonly subjects: readonly string[]
  readonly mayAnswer: boolean
  readonly answer: (request: DataSubjectRequest) => void
}

function Requests({ requests, subjects, mayAnswer, answer }: RequestsProps) {
  if (requests.length === 0) return null
  return (
    <>
      <h2>Open requests of the register</h2>
      <Table
        label="Open requests"
        columns={[
          { title: 'Ticket', cell: ({ ticket }) => <Text of={ticket} /> },
          { title: 'Kind', cell: ({ kind }) => kind },
          { title: 'State', cell: ({ state }) => state },
          { title: 'Received', cell: ({ received_on }) => received_on },
          { title: 'Due', cell: ({ due_on }) => due_on },
          {
            title: 'Answer',
            cell: request => {
              const isErasure = request.kind === 'erasure' || request.kind === 'objection'
              const more = (request.subject_ids ?? []).filter(each => !subjects.includes(each)).length
              return mayAnswer && isErasure ? (
                <button type="button" class="small" onClick={() => answer(request)}>
                  {more > 0 ? `Search its ${formatCount(more, 'other identifier')} too` : 'Answer it'}
                </button>
              ) : null
            },
          },
        ]}
        rows={requests}
        rowKey={({ id }) => id}
        empty=""
      />
    </>
  )
}
