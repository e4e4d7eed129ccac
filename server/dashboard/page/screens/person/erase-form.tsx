import { useState } from 'preact/hooks'
import { api } from '../../../../../src/contract/api.ts'
import { dueAfter } from '../../../../../src/contract/deadline.ts'
import type { Consent, DataSubjectRequest } from '../../../../../src/contract/index.ts'
import { describeDifferences, liveRecords, sortedJson, toTargets } from '../../../../../src/erasure/records.ts'
import { useAction } from '../../call.ts'
import { Command, options } from '../../parts/command.tsx'
import { Field, Form, fieldsOf, missingCount } from '../../parts/form.tsx'
import { Mistake } from '../../parts/problem.tsx'
import { formatCount, formatNumber, Text } from '../../parts/text.tsx'
import { client, useSession } from '../../session.ts'
import { type Order, startErasure } from './erasure.ts'

interface EraseFormProps {
  readonly subjects: readonly string[]
  /** Exactly these records are erased. */
  readonly live: readonly Consent[]
  readonly deleted: number
  readonly near: number
  /** The request of the register that the erasure answers; null if there is none. */
  readonly request: DataSubjectRequest | null
}

export function EraseForm({ subjects, live, deleted, near, request }: EraseFormProps) {
  const [fields, setFields] = useState({
    ticket: request?.ticket ?? '',
    reason: '',
    received: request?.received_on ?? '',
    typed: '',
  })
  const field = fieldsOf(fields, setFields)
  const { ticket, reason, received, typed } = fields
  const account_id = useSession().session?.account_id ?? ''
  const due_at = request?.due_on ?? (received ? dueAfter(received) : null)
  const asked = {
    subjects,
    ticket,
    reason: reason || null,
    received_at: received || null,
    request: isOfAll(request, subjects) ? request.ticket : null,
  }
  const action = useAction(async () => {
    requirePast(received)
    requireOnePerson(subjects)
    await requireUsable(asked)
    const present = await liveRecords(client, subjects)
    requireAsShown(live, present)
    const started_at = new Date().toISOString()
    startErasure({ ...asked, due_at, account_id, started_at }, toTargets(subjects, present))
  })
  return (
    <>
      <h2>Erase</h2>
      <p>{describePlan(live.length, deleted)}</p>
      {near > 0 && <p>The near matches above are not part of it.</p>}
      <Form
        action={action}
        submit={`Erase ${formatCount(live.length, 'record')}`}
        isDangerous
        missing={ticket === '' ? 'The ticket is missing.' : missingCount(typed, live.length)}
      >
        {request ? (
          <p>
            It answers <Text of={request.ticket} />, received {request.received_on}, by the register due on{' '}
            {request.due_on}.
          </p>
        ) : (
          <>
            <Field
              label="Ticket"
              hint="The request that this answers; the certificates name it."
              isRequired
              {...field('ticket')}
            />
            <Field
              label="Received"
              type="date"
              hint={
                due_at === null
                  ? 'Sets the due date (GDPR Art. 12(3)). No certificate names it.'
                  : `Due on ${due_at} (GDPR Art. 12(3)).`
              }
              {...field('received')}
            />
          </>
        )}
        <Due on={due_at} />
        <Field label="Reason" hint="Optional; the certificates name it." {...field('reason')} />
        <Field
          label={`Type ${live.length} to erase exactly ${live.length === 1 ? 'this record' : 'these records'}`}
          isRequired
          {...field('typed')}
        />
      </Form>
      <p class="hint">
        The page makes no erasure receipt, because it has no key of a profile: the service’s certificates are the proof.
        This command makes a signed receipt:
      </p>
      <Command words={eraseCommand({ ...asked, ticket: ticket || 'TICKET' })} label="In a terminal" />
    </>
  )
}

function isOfAll(request: DataSubjectRequest | null, subjects: readonly string[]): request is DataSubjectRequest {
  const ids = request?.subject_ids
  return ids?.length === subjects.length && ids.every(each => subjects.includes(each))
}

function Due({ on }: { readonly on: string | null }) {
  const isOverdue = on !== null && on < new Date().toISOString().slice(0, 10)
  return isOverdue ? (
    <p class="problem" role="status">
      The request was due on {on}.
    </p>
  ) : null
}

function describePlan(live: number, deleted: number): string {
  if (live > 0)
    return `The ${live === 1 ? 'live record' : `${formatNumber(live)} live records`} above, and no other, will be deleted, on every site of the account.`
  return deleted > 0
    ? 'No record is live: nothing will be deleted. The deleted ones are marked as covered by an erasure, so that a restore must say that it is despite it.'
    : 'No record is live or deleted: nothing will be deleted. The service certifies what it holds.'
}

/** @throws Mistake for a day that has not begun in any time zone */
function requirePast(day: string): void {
  if (day > new Date(Date.now() + 86_400_000).toISOString().slice(0, 10)) throw new Mistake(`${day} is in the future.`)
}

/** The same limit as in `subject erase`. */
const mostIdentifiers = 20

/** @throws Mistake for more identifiers than one person is likely to have */
function requireOnePerson({ length }: readonly string[]): void {
  if (length > mostIdentifiers)
    throw new Mistake(`${length} identifiers are too many for one person: nothing was done.`)
}

type Asked = Pick<Order, 'subjects' | 'ticket' | 'reason'>

/** Validates the ticket and the reason by a dry run, before anything is deleted. */
async function requireUsable({ subjects: [subject_id = ''], ticket, reason }: Asked): Promise<void> {
  const body = { subject_id, ids: [], ticket, ...(reason !== null && { reason }), dry_run: true }
  await client.call(api.subjects.erase, { body })
}

/** @throws Mistake if the records are not exactly those that were shown */
function requireAsShown(shown: readonly Consent[], present: readonly Consent[]): void {
  const differences = describeDifferences(shown, present, sortedJson)
  if (differences === '') return
  throw new Mistake(`Records changed since they were shown: ${differences}. Nothing was done: find the person again.`)
}

export function findCommand(subjects: readonly string[]): string[] {
  return ['subject', 'find', '--like', ...operands(subjects)]
}

export function eraseCommand(
  order: Pick<Order, 'subjects' | 'ticket' | 'reason' | 'received_at' | 'request'>,
): string[] {
  const { subjects, ticket, reason, received_at: received, request } = order
  if (request !== null) return ['subject', 'erase', ...options({ request, reason })]
  return ['subject', 'erase', ...options({ ticket, reason, received }), ...operands(subjects)]
}

/** Returns the first identifier as operand, the others as `--also`. An identifier `-` would mean standard input. */
function operands([first = '', ...also]: readonly string[]): string[] {
  if ([first, ...also].includes('-')) return ['--help']
  return [...options({ also }), ...(first.startsWith('-') ? ['--'] : []), first]
}
