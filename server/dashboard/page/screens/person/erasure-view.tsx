import { useEffect, useState } from 'preact/hooks'
import { api } from '../../../../../src/contract/api.ts'
import type { ErasedRecord } from '../../../../../src/contract/documents/erasure-receipt.ts'
import type { DataSubjectRequest, RequestChange } from '../../../../../src/contract/requests.ts'
import { describeOnPage, describeVerification } from '../../../../../src/erasure/sentences.ts'
import { restOf } from '../../../../../src/erasure/state.ts'
import { visible } from '../../../../../src/output/safe.ts'
import { useAction, useCall } from '../../call.ts'
import { mayLeave } from '../../leaving.ts'
import { Button } from '../../parts/button.tsx'
import { Command } from '../../parts/command.tsx'
import { Mistake, Problem } from '../../parts/problem.tsx'
import { Heading } from '../../parts/screen.tsx'
import { SiteName, useSites } from '../../parts/sites.tsx'
import { Details, Table } from '../../parts/table.tsx'
import { formatCount, formatNumber, Link, RecordLink, Tag, Text, Time } from '../../parts/text.tsx'
import { client } from '../../session.ts'
import { Close } from '../request.tsx'
import {
  closeErasure,
  continueErasure,
  downloadCertificates,
  type Erasure,
  type Outcome,
  type SignedText,
} from './erasure.ts'
import { Purge } from './purge.tsx'

interface ErasureViewProps {
  readonly erasure: Erasure
  readonly onClosed: () => void
}

export function ErasureView({ erasure, onClosed }: ErasureViewProps) {
  const { phase, state, certificates, outcome, purging } = erasure
  const { subjects, ticket, reason, request, started_at } = state.order
  const close = () => {
    if (!mayLeave()) return
    closeErasure()
    onClosed()
  }
  return (
    <>
      <Heading step={phase}>{outcome ? 'The erasure' : 'Erasing'}</Heading>
      <div role="status" class={outcome ? 'outcome' : undefined}>
        {outcome ? <Sentences outcome={outcome} due={request?.due_on} /> : <Progress erasure={erasure} />}
      </div>
      {phase === 'stopped' && <Stopped erasure={erasure} close={close} />}
      <Details
        of={{
          Identifiers: subjects.map(each => (
            <div key={each}>
              <Text of={each} />
            </div>
          )),
          Ticket: <Text of={ticket} />,
          Reason: <Text of={reason} />,
          Received: request?.received_on,
          'Due (GDPR Art. 12(3))': request?.due_on,
          Started: <Time at={started_at} />,
          Finished: outcome && <Time at={outcome.finished_at} />,
          'Verified then': outcome && describeVerification(outcome.verification),
        }}
      />
      <Certificates certificates={certificates} lost={phase === 'deleting' ? 0 : state.lostAnswers} />
      {outcome && <Outcomes outcome={outcome} />}
      {outcome && (
        <Purge
          ids={outcome.records.filter(({ result }) => result === 'deleted').map(({ id }) => id)}
          purging={purging}
        />
      )}
      {outcome && request && (
        <Answered
          request={request}
          certificates={certificates}
          remaining={outcome.verification.remaining.length}
          isPurging={purging?.isRunning ?? false}
        />
      )}
      {phase === 'done' && !purging?.isRunning && (
        <p class="buttons">
          <Button text="Close, and find the person again" onClick={close} />
        </p>
      )}
    </>
  )
}

const progress = {
  deleting: 'Deleting: do not close this page.',
  verifying: 'Verifying what is left.',
  stopped: 'Stopped.',
  done: 'Done.',
}

function Progress({ erasure: { phase, state } }: { readonly erasure: Erasure }) {
  const [done, all] = [state.done.size, state.targets.size]
  return (
    <p>
      {all > 0 && <progress aria-label="Records with an outcome" max={all} value={done} />}
      {progress[phase]} {formatNumber(done)} of {formatCount(all, 'record')} answered.
    </p>
  )
}

interface StoppedProps {
  readonly erasure: Erasure
  readonly close: () => void
}

/** Records without an outcome may be deleted: a response may have been lost. */
function Stopped({ erasure: { state, error }, close }: StoppedProps) {
  const rest = restOf(state)
  const unsure = rest.filter(({ id }) => state.sent.has(id) || state.lost.has(id)).length
  return (
    <>
      <Problem error={error} hasOwnWords />
      <p>
        {rest.length === 0
          ? 'Each record has its outcome; what is left is to verify.'
          : `${formatCount(rest.length, 'record')} without an outcome${unsure > 0 ? `, ${formatNumber(unsure)} of which may be deleted already: a call got no usable answer` : ' yet'}. To continue sends the same ids: no record is deleted twice.`}
      </p>
      <p class="buttons">
        <Button text="Continue" kind="primary" onClick={continueErasure} />
        <Button text="Give up" onClick={close} />
      </p>
    </>
  )
}

/** Uses the sentences of an erasure receipt; text between `**` is bold. */
function Sentences({ outcome, due }: { readonly outcome: Outcome; readonly due: string | undefined }) {
  const isLate = due !== undefined && due < outcome.finished_at.slice(0, 10)
  return (
    <>
      <p>
        As of <Time at={outcome.finished_at} />:{' '}
        {describeOnPage(outcome)
          .split('**')
          .map((part, index) => (index % 2 === 1 ? <strong key={part}>{part}</strong> : part))}
      </p>
      {isLate && <p>The request was due on {due}.</p>}
    </>
  )
}

function Certificates({ certificates, lost }: { readonly certificates: readonly SignedText[]; readonly lost: number }) {
  const all = useAction(() => downloadCertificates(certificates))
  const missing = lost > 0 && (
    <p>
      {formatCount(lost, 'call')} got no usable answer: {lost === 1 ? 'its' : 'each'} certificate, if there is one, is
      lost.
    </p>
  )
  if (certificates.length === 0) return missing || null
  return (
    <>
      <h2>Certificates</h2>
      <p>
        What the service signed, byte for byte. Keep them: the page does not. It makes no erasure receipt, and does not
        verify signatures. This command does:
      </p>
      <Command words={['verify', ...certificates.map(({ name }) => name)]} label="In a terminal" />
      {missing}
      <ul>
        {certificates.map(certificate => (
          <li key={certificate.name} class="buttons">
            <Button
              text={`Download ${certificate.name}`}
              kind="small"
              onClick={() => downloadCertificates([certificate])}
            />
            {certificate.isDownloaded && <Tag tone="good">downloaded</Tag>}
          </li>
        ))}
      </ul>
      {certificates.length > 1 && (
        <p class="buttons">
          <Button text={`Download all ${certificates.length}`} kind="primary" isOff={all.isRunning} onClick={all.run} />
        </p>
      )}
    </>
  )
}

interface AnsweredProps {
  readonly request: DataSubjectRequest
  readonly certificates: readonly SignedText[]
  /** Number of live records that the erasure left. */
  readonly remaining: number
  /** Then it is too early to close the request. */
  readonly isPurging: boolean
}

/** Adds the digests of the certificates to the request in the register, and offers to close it. */
function Answered({ request: { id, ticket }, certificates, remaining, isPurging }: AnsweredProps) {
  const params = { id }
  const [added, setAdded] = useState<number>()
  const [isOpen, setOpen] = useState(false)
  const request = useCall(() => client.call(api.requests.get, { params: { id } }), [added])
  const adding = useAction(async () => {
    const proofs = await proofsIn(certificates)
    for (const receipt of proofs) await client.call(api.requests.update, { params, body: { receipt } })
    setAdded(proofs.length)
  })
  useEffect(adding.run, [])
  const close = async (body: RequestChange) => {
    await client.call(api.requests.update, { params, body })
    setOpen(false)
    request.reload()
  }
  const isClosed = request.value?.state === 'closed'
  return (
    <>
      <h2>The request</h2>
      <p>
        <Link to={['requests', id]}>{ticket}</Link>
        {remaining > 0 && ` is not answered: ${formatCount(remaining, 'live record')} of the person left.`}
      </p>
      <p role="status">
        {added !== undefined && describeAdded(added)}
        {isClosed && ' It is closed.'}
      </p>
      <Problem error={adding.error} retry={adding.run} />
      <Problem error={request.error} retry={request.reload} />
      {request.value && !isClosed && !isPurging && (
        <p class="buttons">
          <Button
            text={`Close ${visible(ticket)} …`}
            kind={remaining > 0 ? undefined : 'primary'}
            onClick={() => setOpen(true)}
          />
        </p>
      )}
      {isOpen && request.value && <Close of={request.value} onClose={() => setOpen(false)} change={close} />}
    </>
  )
}

function describeAdded(count: number): string {
  if (count === 0) return 'No certificate of the erasure arrived: the register has no proof of it.'
  return `The register has the ${count === 1 ? 'digest' : 'digests'} of ${formatCount(count, 'certificate')}.`
}

/** @throws Mistake if the browser cannot compute digests */
async function proofsIn(certificates: readonly SignedText[]): Promise<NonNullable<RequestChange['receipt']>[]> {
  const { subtle } = crypto as { readonly subtle?: SubtleCrypto }
  const own = certificates.filter(({ name }) => name.startsWith('erasure'))
  if (!subtle && own.length > 0)
    throw new Mistake('Without HTTPS, this browser cannot compute digests: the register gets no proof of the erasure.')
  return await Promise.all(
    own.map(async ({ text }) => {
      const digest = await subtle?.digest('SHA-256', new TextEncoder().encode(text))
      const bytes = [...new Uint8Array(digest ?? [])]
      const sha256 = bytes.map(byte => byte.toString(16).padStart(2, '0')).join('')
      return { type: 'erasure_certificate' as const, sha256 }
    }),
  )
}

const words = {
  deleted: 'deleted by this',
  already_gone: 'no longer there, not by this',
  unknown: 'no longer there; who deleted it is not known',
  remaining: 'not deleted',
}

function Outcomes({ outcome: { records, verification } }: { readonly outcome: Outcome }) {
  const sites = useSites().value ?? []
  const planned = new Set(records.map(({ id }) => id))
  const created = verification.remaining.filter(({ id }) => !planned.has(id))
  return (
    <>
      <Table<ErasedRecord>
        label="Outcome of each record"
        isTitled
        columns={{
          Record: ({ id }) => <RecordLink id={id} />,
          Result: ({ result }) => (
            <Tag tone={result === 'deleted' ? 'good' : result === 'remaining' ? 'bad' : 'plain'}>{words[result]}</Tag>
          ),
          Site: ({ site_id }) => <SiteName sites={sites} id={site_id} />,
          Deleted: ({ deleted_at }) => deleted_at && <Time at={deleted_at} />,
        }}
        rows={records}
        empty="No record was to be deleted."
      />
      <Table
        label="Live, and not part of this erasure"
        isTitled
        note="To erase them too, find the person again and repeat the erasure."
        columns={{
          Record: ({ id }) => <RecordLink id={id} />,
          Site: ({ site_id }) => <SiteName sites={sites} id={site_id} />,
        }}
        rows={created}
      />
    </>
  )
}
