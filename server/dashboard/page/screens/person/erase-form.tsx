import { useState } from 'preact/hooks'
import { api } from '../../../../../src/contract/api.ts'
import type { Consent, DataSubjectRequest } from '../../../../../src/contract/index.ts'
import { describeDifferences, liveRecords, sortedJson, toTargets } from '../../../../../src/erasure/records.ts'
import { Command, options } from '../../parts/command.tsx'
import { Field, Form, fieldsOf, missingCount } from '../../parts/form.tsx'
import { Mistake } from '../../parts/problem.tsx'
import { formatCount, formatNumber, Text } from '../../parts/text.tsx'
import { client, useSession } from '../../session.ts'
import { type Order, startErasure } from './erasure.ts'
import { isErasable } from './search.ts'

interface EraseFormProps {
  readonly subjects: readonly string[]
  /** Exactly these records are erased. */
  readonly live: readonly Consent[]
  readonly deleted: number
  /** In the register; null without one. */
  readonly request: DataSubjectRequest | null
}

export function EraseForm({ subjects, live, deleted, request }: EraseFormProps) {
  const [fields, setFields] = useState({ ticket: request?.ticket ?? '', reason: '', typed: '' })
  const field = fieldsOf(fields, setFields)
  const { ticket, reason, typed } = fields
  const account_id = useSession().session?.account_id ?? ''
  const asked = { subjects, ticket, reason: reason || null, request }
  const run = async () => {
    requireOnePerson(subjects)
    await requireUsable(asked)
    const answered = await findAnswered(asked)
    const present = await liveRecords(client, subjects)
    requireAsShown(live, present)
    const started_at = new Date().toISOString()
    startErasure({ ...asked, request: answered, account_id, started_at }, toTargets(subjects, present))
  }
  return (
    <>
      <h2>Erase</h2>
      <p>{describePlan(live.length, deleted)}</p>
      <Form
        run={run}
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
          <Field
            label="Ticket"
            hint="The request that this answers; the certificates name it."
            isRequired
            {...field('ticket')}
          />
        )}
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

function describePlan(live: number, deleted: number): string {
  if (live > 0)
    return `The ${live === 1 ? 'live record' : `${formatNumber(live)} live records`} above, and no other, will be deleted, on every site of the account.`
  return deleted > 0
    ? 'No record is live: nothing will be deleted. The deleted ones are marked as covered by an erasure, so that a restore must say that it is despite it.'
    : 'No record is live or deleted: nothing will be deleted. The service certifies what it holds.'
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

/**
 * Returns the request of the register with this ticket as it is now, or null. @throws Mistake if an erasure of these
 * identifiers does not answer it
 */
async function findAnswered({ subjects, ticket }: Asked): Promise<DataSubjectRequest | null> {
  const { data } = await client.call(api.requests.list, { query: { ticket } })
  const [found = null] = data
  if (!found) return null
  const others = found.subject_ids?.filter(each => !subjects.includes(each)) ?? []
  const problem =
    (found.state === 'closed' && 'is closed') ||
    (!isErasable(found) && `asks for ${found.kind}`) ||
    (others.length > 0 && `has ${formatCount(others.length, 'other identifier')}: search for all of them`)
  if (problem) throw new Mistake(`The request ${ticket} of the register ${problem}. Nothing was done.`)
  return found
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

/** Returns the request if it has exactly these identifiers. */
export function eraseCommand({ subjects, ticket, reason, request }: Asked & Pick<Order, 'request'>): string[] {
  const ids = request?.subject_ids
  const isOfAll = ids?.length === subjects.length && ids.every(each => subjects.includes(each))
  if (isOfAll) return ['subject', 'erase', ...options({ request: ticket, reason })]
  const received = request?.received_on
  return ['subject', 'erase', ...options({ ticket, reason, received }), ...operands(subjects)]
}

/** Returns the first identifier as operand, the others as `--also`. An identifier `-` would mean standard input. */
function operands([first = '', ...also]: readonly string[]): string[] {
  if ([first, ...also].includes('-')) return ['--help']
  return [...options({ also }), ...(first.startsWith('-') ? ['--'] : []), first]
}
