import { useState } from 'preact/hooks'
import { api } from '../../../../src/contract/api.ts'
import {
  type DataSubjectRequest,
  type RequestChange,
  type RequestEntry,
  type RequestOutcome,
  type RequestWithHistory,
  requestKinds,
  requestOutcomes,
} from '../../../../src/contract/requests.ts'
import { describeDue, isOverdue } from '../../../../src/domain/due.ts'
import { visible } from '../../../../src/output/safe.ts'
import { type Loaded, useCall } from '../call.ts'
import { Button } from '../parts/button.tsx'
import { options } from '../parts/command.tsx'
import { FormDialog } from '../parts/dialog.tsx'
import { Field, fieldsOf, Select } from '../parts/form.tsx'
import { Screen, Show } from '../parts/screen.tsx'
import { type Columns, Details, Table } from '../parts/table.tsx'
import { Id, Link, Tag, Text, Time } from '../parts/text.tsx'
import { linkTo } from '../router.ts'
import { client, useMay } from '../session.ts'
import { identifiersIn, isErasable, searchFor } from './person/search.ts'

export const kindOptions = requestKinds.map(kind => [kind, kind] as const)

export function RequestScreen({ id }: { readonly id: string }) {
  const found = useCall(() => client.call(api.requests.get, { params: { id } }), [])
  const command = found.value && ['requests', 'show', '--history', '--', found.value.ticket]
  return (
    <Screen title="Request" links={<Link to={['requests']}>All requests</Link>} {...(command && { command })}>
      <Show of={found}>
        {request => (
          <>
            <Details of={factsOf(request)} />
            <Changes of={request} found={found} />
            <Table
              label="Proofs of the answer"
              isTitled
              note="The digest of each document that was added to the request."
              columns={proofColumns}
              rows={request.receipts}
            />
            <Table label="History" isTitled columns={entryColumns} rows={request.history.toReversed()} />
          </>
        )}
      </Show>
    </Screen>
  )
}

function factsOf(request: DataSubjectRequest) {
  const { state, outcome, subject_ids, held_until, sealed_proofs, sealed_until } = request
  return {
    Ticket: <Text of={request.ticket} />,
    Kind: request.kind,
    State: <Tag tone={state === 'closed' ? 'good' : isOverdue(request) ? 'bad' : 'plain'}>{outcome ?? state}</Tag>,
    Received: request.received_on,
    'Due (GDPR Art. 12(3))': describeDue(request),
    Identifiers: subject_ids
      ? subject_ids.map(each => (
          <div key={each}>
            <Text of={each} />
          </div>
        ))
      : 'removed when it was closed',
    'Assigned to': <Text of={request.assignee} />,
    'Extended because': request.extension_reason && <Text of={request.extension_reason} />,
    Closed: request.closed_at && <Time at={request.closed_at} />,
    Because: request.outcome_reason && <Text of={request.outcome_reason} />,
    'Purge due': request.purge_due_on,
    Purged: request.purged_on,
    'Legal hold until': held_until && <Time at={held_until} />,
    'Sealed proofs kept': sealed_proofs > 0 && `${sealed_proofs}, until ${sealed_until?.slice(0, 10)}`,
  }
}

const proofColumns: Columns<DataSubjectRequest['receipts'][number]> = {
  Document: ({ type }) => <Text of={type.replaceAll('_', ' ')} />,
  'SHA-256': ({ sha256 }) => <Id of={sha256} />,
  Added: ({ added_at }) => <Time at={added_at} />,
}

const entryColumns: Columns<RequestEntry> = {
  Change: ({ action }) => <Text of={action} />,
  At: ({ created_at }) => <Time at={created_at} />,
  By: ({ changed_by, actor_id }) => (
    <>
      {changed_by === 'user' ? 'user' : 'API key'} <Id of={actor_id} />
    </>
  ),
  Fields: ({ before, after }) => before && <Text of={Object.keys(after).join(', ').replaceAll('_', ' ')} />,
}

interface DialogProps {
  readonly of: DataSubjectRequest
  readonly onClose: () => void
  readonly change: (body: RequestChange) => Promise<void>
}

interface ChangesProps {
  readonly of: DataSubjectRequest
  readonly found: Loaded<RequestWithHistory>
}

function Changes({ of: request, found }: ChangesProps) {
  const mayChange = useMay(api.requests.update)
  const [open, setOpen] = useState<typeof Extend>()
  const { id, state } = request
  if (!mayChange || state === 'closed') return null
  const change = async (body: RequestChange) => {
    await client.call(api.requests.update, { params: { id }, body })
    setOpen(undefined)
    found.reload()
  }
  const ask = (dialog: typeof Extend) => () => setOpen(() => dialog)
  const Asked = open
  return (
    <>
      <p class="buttons">
        <AnswerButton of={request} kind="primary" />
        <Button text="Close …" onClick={ask(Close)} />
        {state === 'open' && <Button text="Extend …" onClick={ask(Extend)} />}
        <Button text="Assign or correct …" onClick={ask(Correct)} />
      </p>
      {Asked && <Asked of={request} onClose={() => setOpen(undefined)} change={change} />}
    </>
  )
}

interface AnswerButtonProps {
  readonly of: DataSubjectRequest
  readonly kind: 'primary' | 'small'
}

/** Shows the person on their screen, where an erasure then answers the request. */
export function AnswerButton({ of: request, kind }: AnswerButtonProps) {
  const { subject_ids, ticket } = request
  if (!useMay(api.requests.update) || !subject_ids) return null
  const find = () => {
    searchFor(subject_ids, isErasable(request) ? request : null)
    location.hash = linkTo('person')
  }
  const text = isErasable(request) ? 'Answer it' : 'Find the person'
  return <Button text={text} label={`${text}: ${visible(ticket)}`} kind={kind} onClick={find} />
}

function Extend({ of: { ticket }, onClose, change }: DialogProps) {
  const [reason, setReason] = useState('')
  return (
    <FormDialog
      title="Extend the period?"
      onClose={onClose}
      run={() => change({ extension_reason: reason })}
      submit="Extend by two months"
      command={['requests', 'extend', ...options({ reason: reason || 'WHY' }), '--', ticket]}
    >
      <p>
        Once, within the first month, because the request is complex or there are many (GDPR Art. 12(3)). The person
        must be told within that month, with the reason.
      </p>
      <Field
        label="Reason"
        name="extension_reason"
        hint="Without names of persons: the report shows it."
        value={reason}
        onValue={setReason}
        isRequired
      />
    </FormDialog>
  )
}

const outcomeTexts: Readonly<Record<RequestOutcome, string>> = {
  done: 'done: what was asked for is done',
  refused: 'refused: the person was told why',
  withdrawn: 'withdrawn by the person',
}

export function Close({ of: request, onClose, change }: DialogProps) {
  const [fields, setFields] = useState({ outcome: 'done' as RequestOutcome, outcome_reason: '' })
  const field = fieldsOf(fields, setFields)
  const { outcome, outcome_reason: reason } = fields
  const isLate = isOverdue(request)
  const why =
    outcome === 'refused' ? 'the person must be told it (GDPR Art. 12(4))' : isLate ? 'the report states it' : null
  return (
    <FormDialog
      title="Close this request?"
      onClose={onClose}
      run={() => change({ outcome, ...(reason && { outcome_reason: reason }) })}
      submit="Close the request"
      isDangerous
      missing={why && !reason ? `The reason is missing: ${why}.` : ''}
      command={['requests', 'close', ...options({ outcome, reason }), '--', request.ticket]}
    >
      <p>The register then forgets the person’s identifiers. This cannot be undone.</p>
      {isLate && <p>It was due on {describeDue(request)}: say why it is late.</p>}
      <Select
        label="Outcome"
        options={requestOutcomes.map(each => [each, outcomeTexts[each]] as const)}
        {...field('outcome')}
      />
      <Field
        label="Reason"
        hint={`${why ? '' : 'Optional. '}Without names of persons: the report shows it.`}
        isRequired={why !== null}
        {...field('outcome_reason')}
      />
    </FormDialog>
  )
}

function Correct({ of: request, onClose, change }: DialogProps) {
  const before = (request.subject_ids ?? []).join('\n')
  const [fields, setFields] = useState({
    assignee: request.assignee ?? '',
    kind: request.kind,
    received_on: request.received_on,
    subject_ids: before,
  })
  const field = fieldsOf(fields, setFields)
  const { assignee, kind, received_on, subject_ids } = fields
  const run = () =>
    change({
      ...(assignee !== (request.assignee ?? '') && { assignee: assignee || null }),
      ...(kind !== request.kind && { kind }),
      ...(received_on !== request.received_on && { received_on }),
      ...(subject_ids !== before && { subject_ids: identifiersIn(subject_ids) }),
    })
  return (
    <FormDialog title="Assign or correct this request" onClose={onClose} run={run} submit="Save">
      <Field label="Assigned to" hint="Empty: nobody." {...field('assignee')} />
      <Select label="Kind" options={kindOptions} {...field('kind')} />
      <Field label="Received (UTC day)" type="date" isRequired {...field('received_on')} />
      <Field label="Identifiers of the person" lines={3} isRequired {...field('subject_ids')} />
    </FormDialog>
  )
}
