import { useState } from 'preact/hooks'
import { api } from '../../../../src/contract/api.ts'
import type { DataSubjectRequest, RequestKind, RequestPage, RequestQuery } from '../../../../src/contract/requests.ts'
import { describeDue, isOverdue, today } from '../../../../src/domain/due.ts'
import { useCall } from '../call.ts'
import { Button } from '../parts/button.tsx'
import { options } from '../parts/command.tsx'
import { FormDialog } from '../parts/dialog.tsx'
import { Field, fieldsOf, Select } from '../parts/form.tsx'
import { PagedTable, usePages } from '../parts/paged-table.tsx'
import { Screen, Show } from '../parts/screen.tsx'
import { type Columns, Table } from '../parts/table.tsx'
import { Link, Tag, Text } from '../parts/text.tsx'
import { linkTo } from '../router.ts'
import { client, useMay } from '../session.ts'
import { identifiersIn } from './person/search.ts'
import { AnswerButton, kindOptions, RequestScreen } from './request.tsx'

/** `#/requests` is the register, `#/requests/closed` its closed requests, `#/requests/ID` a request. */
export function Requests({ params: [place] }: { readonly params: readonly string[] }) {
  if (place && place !== 'closed') return <RequestScreen id={place} key={place} />
  return <Register isClosed={place === 'closed'} key={place} />
}

const columns: Columns<DataSubjectRequest> = {
  Ticket: ({ id, ticket }) => <Link to={['requests', id]}>{ticket}</Link>,
  Kind: ({ kind }) => kind,
  Due: request => (isOverdue(request) ? <Tag tone="bad">{describeDue(request)}</Tag> : request.due_on),
  State: ({ state, outcome }) => outcome ?? state,
  Received: ({ received_on }) => received_on,
  'Assigned to': ({ assignee }) => <Text of={assignee} />,
}

export const openColumns: Columns<DataSubjectRequest> = {
  ...columns,
  Answer: request => <AnswerButton of={request} kind="small" />,
}

const closedColumns: Columns<DataSubjectRequest> = {
  ...columns,
  Closed: ({ closed_at }) => closed_at?.slice(0, 10) ?? '',
}

function Register({ isClosed }: { readonly isClosed: boolean }) {
  const mayAdd = useMay(api.requests.create)
  const [isOpen, setOpen] = useState(false)
  return (
    <Screen
      title="Requests"
      command={['requests', 'list', ...options({ closed: isClosed })]}
      actions={mayAdd && <Button text="Enter a request" kind="primary" onClick={() => setOpen(true)} />}
      links={
        isClosed ? (
          <Link to={['requests']}>Open requests</Link>
        ) : (
          <Link to={['requests', 'closed']}>Closed requests</Link>
        )
      }
    >
      {isClosed ? <Closed /> : <Open />}
      {isOpen && <Enter onClose={() => setOpen(false)} />}
    </Screen>
  )
}

function Open() {
  const open = useCall(() => readOpen({}), [])
  return (
    <Show of={open}>
      {rows => (
        <Table
          label="Open requests, due first"
          columns={openColumns}
          rows={rows}
          empty="No request is open. Enter one when a person asks for their data, its erasure or the like."
        />
      )}
    </Show>
  )
}

const allClosed = {}

function Closed() {
  const read = (page: RequestQuery) =>
    client.call(api.requests.list, { query: { ...page, state: 'closed', limit: 50 } })
  const pages = usePages(read, allClosed)
  return (
    <PagedTable
      label="Closed requests, entered last first"
      columns={closedColumns}
      pages={pages}
      empty="No request is closed."
      emptyPage="No closed request here."
    />
  )
}

/** All of them, due first. */
export async function readOpen(query: RequestQuery): Promise<readonly DataSubjectRequest[]> {
  const all: DataSubjectRequest[] = []
  let cursor: string | null = null
  do {
    const page: RequestPage = await client.call(api.requests.list, {
      query: { ...query, state: 'open', limit: 100, ...(cursor !== null && { cursor }) },
    })
    all.push(...page.data)
    cursor = page.next_cursor
  } while (cursor !== null)
  const key = ({ due_on, received_on, id }: DataSubjectRequest) => `${due_on} ${received_on} ${id}`
  return all.sort((one, other) => (key(one) < key(other) ? -1 : 1))
}

function Enter({ onClose }: { readonly onClose: () => void }) {
  const [fields, setFields] = useState({
    ticket: '',
    subject_ids: '',
    kind: 'erasure' as RequestKind,
    received_on: today(),
    assignee: '',
  })
  const field = fieldsOf(fields, setFields)
  const { ticket, kind, received_on, assignee } = fields
  const subject_ids = identifiersIn(fields.subject_ids)
  const [first = 'IDENTIFIER', ...also] = subject_ids
  const run = async () => {
    const body = { ticket, kind, received_on, subject_ids, ...(assignee && { assignee }) }
    const { id } = await client.call(api.requests.create, { body })
    location.hash = linkTo('requests', id)
  }
  return (
    <FormDialog
      title="Enter a request"
      onClose={onClose}
      run={run}
      submit="Enter the request"
      command={[
        ...['requests', 'add', ...options({ kind, received: received_on, assignee, also })],
        ...['--', ticket || 'TICKET', first],
      ]}
    >
      <Field label="Ticket" hint="Its name, unique in the account, such as DSR-7." isRequired {...field('ticket')} />
      <Select label="Kind" options={kindOptions} {...field('kind')} />
      <Field
        label="Identifiers of the person"
        hint="One a line, exactly as stored: case and blanks count."
        lines={3}
        isRequired
        {...field('subject_ids')}
      />
      <Field
        label="Received (UTC day)"
        type="date"
        hint="The service computes the last day to answer from it."
        isRequired
        {...field('received_on')}
      />
      <Field label="Assigned to" hint="Optional: who handles it." {...field('assignee')} />
    </FormDialog>
  )
}
