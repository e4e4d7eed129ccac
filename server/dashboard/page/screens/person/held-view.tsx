import { useState } from 'preact/hooks'
import { api } from '../../../../../src/contract/api.ts'
import type { Consent, DataSubjectRequest } from '../../../../../src/contract/index.ts'
import { sealedLimit } from '../../../../../src/contract/subjects.ts'
import { exportTexts } from '../../../../../src/erasure/export-text.ts'
import {
  countBySite,
  findNearMatches,
  findSealedProofs,
  type NearMatch,
  recordsOf,
  type SealedProof,
} from '../../../../../src/erasure/records.ts'
import { useCall } from '../../call.ts'
import { Button } from '../../parts/button.tsx'
import { DownloadButton } from '../../parts/download.tsx'
import { Consented } from '../../parts/preferences.tsx'
import { Heading, Show } from '../../parts/screen.tsx'
import { SiteName, useSites } from '../../parts/sites.tsx'
import { Table } from '../../parts/table.tsx'
import { Answered, formatCount, formatNumber, RecordLink, Tag, Text, Time } from '../../parts/text.tsx'
import { client, useMay } from '../../session.ts'
import { baseUrl } from '../../transport.ts'
import { EraseForm } from './erase-form.tsx'
import { isErasable, type Search } from './search.ts'

/** Purged records are not listed, because they name no person; their sealed proofs are. */
interface Held {
  /** Live and deleted records. */
  readonly records: readonly Consent[]
  readonly near: readonly NearMatch[]
  readonly proofs: readonly SealedProof[]
  /** Open requests of the register. */
  readonly requests: readonly DataSubjectRequest[]
}

/** `onCount` gets the number of records read so far. @throws CallError, CliError */
async function readHeld(subjects: readonly string[], onCount: (count: number) => void): Promise<Held> {
  const near = (await findNearMatches(client, subjects)) ?? []
  const proofs = (await findSealedProofs(client, subjects)) ?? []
  const requests = new Map<string, DataSubjectRequest>()
  for (const subject_id of subjects) {
    const { data } = await client.call(api.requests.list, { query: { subject_id, state: 'open', limit: 100 } })
    for (const request of data) requests.set(request.id, request)
  }
  const records: Consent[] = []
  for await (const page of recordsOf(client, subjects, { deleted: true })) {
    records.push(...page)
    onCount(records.length)
  }
  return { records, near, proofs, requests: [...requests.values()] }
}

/** Reads all records again, with their histories. Returns the text that `subject export` writes. */
async function readExport(subjects: readonly string[], onCount: (count: number) => void): Promise<string> {
  const head = { instance: baseUrl, subjects }
  const texts: string[] = []
  let count = 0
  const pages = recordsOf(client, subjects, { deleted: true })
  for await (const { text, record } of exportTexts(client, { ...head, exported_at: new Date().toISOString() }, pages)) {
    texts.push(text)
    if (!record) continue
    count += 1
    onCount(count)
  }
  return texts.join('')
}

interface HeldViewProps extends Pick<Search, 'subjects' | 'request'> {
  readonly find: (subjects: readonly string[], request: DataSubjectRequest | null) => void
}

/** The caller mounts it anew for each search, so that it never mixes two persons. */
export function HeldView({ subjects, request, find }: HeldViewProps) {
  const [count, setCount] = useState(0)
  const held = useCall(() => readHeld(subjects, setCount), [])
  return (
    <>
      <Heading>Held</Heading>
      <p role="status">
        {held.value ? describeHeld(held.value) : count > 0 && `${formatCount(count, 'record')} read …`}
      </p>
      <Show of={held}>{value => <HeldParts held={value} {...{ subjects, request, find }} />}</Show>
    </>
  )
}

function HeldParts({ held, subjects, request, find }: HeldViewProps & { readonly held: Held }) {
  const mayChange = useMay(api.subjects.erase)
  const sites = useSites().value ?? []
  const { records, near, proofs, requests } = held
  const live = records.filter(({ deleted_at }) => deleted_at === null)
  const liveBySite = countBySite(live)
  const [answered, setAnswered] = useState(request)
  const include = (more: readonly string[]) => find([...new Set([...subjects, ...more])], answered)
  return (
    <>
      <Table
        label="Records by site"
        columns={{
          Site: ([site]) => <SiteName sites={sites} id={site} />,
          Live: ([site]) => liveBySite.get(site) ?? 0,
          Deleted: ([site, count]) => count - (liveBySite.get(site) ?? 0),
        }}
        rows={[...countBySite(records)]}
      />
      <Table
        label="Near matches"
        isTitled
        note="These differ only in case, blanks around them or Unicode form. They are not part of this, and never erased unless you add them."
        columns={{
          Identifier: ({ subject_id }) => <Text of={subject_id} />,
          'Near to': ({ given }) => <Text of={given} />,
          Live: ({ live }) => live,
          Deleted: ({ deleted }) => deleted,
          Add: row => <Button text="Add to this person" kind="small" onClick={() => include([row.subject_id])} />,
        }}
        rows={near}
      />
      <Table
        label="Records"
        isTitled
        columns={{
          Record: ({ id }) => <RecordLink id={id} />,
          State: ({ deleted_at }) => (deleted_at ? <Tag tone="plain">deleted</Tag> : <Tag tone="good">live</Tag>),
          Consent: row => <Consented of={row} />,
          Created: row => <Answered of={row} />,
          Site: ({ site_id }) => <SiteName sites={sites} id={site_id} />,
          Identifier: ({ subject_id }) => <Text of={subject_id} />,
          Label: ({ consent_id }) => <Text of={consent_id} />,
          Policy: ({ policy_version }) => String(policy_version),
          Deleted: ({ deleted_at }) => deleted_at && <Time at={deleted_at} />,
          Origin: ({ origin }) => <Text of={origin ? `imported from ${origin.system}` : 'recorded by this service'} />,
        }}
        rows={records}
        empty="No matching records. Identifiers must match exactly, including case and spaces."
      />
      <Table
        label="Sealed proofs of purged records"
        isTitled
        note={`The newest ${formatNumber(sealedLimit)} of each identifier are listed at most.`}
        columns={{
          Record: ({ record_id }) => <RecordLink id={record_id} />,
          Site: ({ site_id }) => <SiteName sites={sites} id={site_id} />,
          Basis: ({ basis }) => <Text of={basis} />,
          'Until, or longer while a legal hold stands': ({ until }) => <Time at={until} />,
        }}
        rows={proofs}
      />
      <Export subjects={subjects} key={JSON.stringify(subjects)} />
      <Table
        label="Open requests of the register"
        isTitled
        columns={{
          Ticket: ({ ticket }) => <Text of={ticket} />,
          Kind: ({ kind }) => kind,
          State: ({ state }) => state,
          Received: ({ received_on }) => received_on,
          Due: ({ due_on }) => due_on,
          Answer: request => mayChange && <Answer of={request} {...{ subjects, include, setAnswered }} />,
        }}
        rows={requests}
      />
      {mayChange ? (
        <EraseForm
          key={answered?.id ?? ''}
          subjects={subjects}
          live={live}
          deleted={records.length - live.length}
          request={answered}
        />
      ) : (
        <p class="hint">Only an owner or an operator can erase.</p>
      )}
    </>
  )
}

interface AnswerProps {
  readonly of: DataSubjectRequest
  readonly subjects: readonly string[]
  readonly include: (subjects: readonly string[]) => void
  readonly setAnswered: (request: DataSubjectRequest) => void
}

function Answer({ of: request, subjects, include, setAnswered }: AnswerProps) {
  if (!isErasable(request)) return null
  const more = (request.subject_ids ?? []).filter(each => !subjects.includes(each))
  return (
    <Button
      text={more.length > 0 ? `Search its ${formatCount(more.length, 'other identifier')} too` : 'Answer it'}
      kind="small"
      onClick={() => (more.length > 0 ? include(more) : setAnswered(request))}
    />
  )
}

function describeHeld({ records, proofs }: Held): string {
  const gone = records.filter(({ deleted_at }) => deleted_at !== null).length
  const deleted = gone === 0 ? 'none' : formatNumber(gone)
  const still = gone === 0 ? '' : `, which hold${gone === 1 ? 's' : ''} data until purged`
  const kept = proofs.length === 0 ? '' : `, but for ${formatCount(proofs.length, 'sealed proof')}`
  return `${formatCount(records.length - gone, 'live record')}, and ${deleted} deleted${still}. Purged ones are not found${kept}.`
}

/** Downloads the file that `subject export` writes, without its signed manifest. */
function Export({ subjects }: { readonly subjects: readonly string[] }) {
  const [count, setCount] = useState(0)
  const read = (requireShown: () => void) =>
    readExport(subjects, done => {
      requireShown() // the user may have searched for another person
      setCount(done)
    })
  return (
    <>
      <div class="buttons">
        <DownloadButton text="Export everything" name="person.json" read={read} />
        {count > 0 && <span role="status">{formatCount(count, 'record')} read</span>}
      </div>
      <p class="hint">
        All records with their histories, as one JSON document. It is not signed: consentctl subject export writes the
        same, with a signed manifest.
      </p>
    </>
  )
}
