import { useEffect, useRef, useState } from 'preact/hooks'
import { ApiError } from '../../../../src/client/errors.ts'
import { api } from '../../../../src/contract/api.ts'
import { type Loaded, useAction, useCall } from '../call.ts'
import { Command } from '../parts/command.tsx'
import { download } from '../parts/download.ts'
import { ActionButton } from '../parts/form.tsx'
import { Problem } from '../parts/problem.tsx'
import { Screen, Show } from '../parts/screen.tsx'
import { Id, Tag, Time } from '../parts/text.tsx'
import { linkTo } from '../router.ts'
import { client, useMayChange } from '../session.ts'
import { Change } from './record/change.tsx'
import { RecordDetails } from './record/details.tsx'
import { EvidencePack } from './record/evidence.tsx'
import { type Facts, readFacts } from './record/facts.ts'
import { StateAt } from './record/moment.tsx'
import { Delete, Restore } from './record/removal.tsx'
import { Timeline } from './record/timeline.tsx'

export function Record({ id }: { readonly id: string }) {
  const facts = useCall(() => readFacts(id), [id])
  const [at, setAt] = useState<string | null>(null)
  const moment = at === null ? [] : ['--at', at]
  return (
    <Screen title="Record" command={['get', id, ...moment, '--include-deleted']}>
      <p>
        <a href={linkTo('records')}>All records</a>
      </p>
      {isMissing(facts) ? (
        <Missing id={id} />
      ) : (
        <Show of={facts}>{value => <Whole facts={value} onChanged={facts.reload} at={at} onMoment={setAt} />}</Show>
      )}
    </Screen>
  )
}

function isMissing({ value, error }: Loaded<Facts>): boolean {
  return value === undefined && error instanceof ApiError && error.status === 404
}

function Missing({ id }: { readonly id: string }) {
  return (
    <p class="empty" role="alert">
      This account has no record with the id <Id of={id} />. Deleted and purged records are found here, too: look if the
      address is complete.
    </p>
  )
}

interface PartProps {
  readonly facts: Facts
  readonly onChanged: () => void
}

interface WholeProps extends PartProps {
  /** RFC 3339. */
  readonly at: string | null
  readonly onMoment: (at: string) => void
}

function Whole({ facts, onChanged, at, onMoment }: WholeProps) {
  const { record, history } = facts
  const show = (moment: string) => {
    onMoment(moment)
    document.getElementById('moment')?.focus()
  }
  return (
    <>
      <State facts={facts} />
      <Actions facts={facts} onChanged={onChanged} />
      <RecordDetails of={facts} />
      <h2>History</h2>
      <Timeline entries={history.data} onMoment={show} />
      <Command words={['history', record.id]} />
      <StateAt facts={facts} at={at} onMoment={show} />
      <EvidencePack id={record.id} />
    </>
  )
}

function purgedAt({ history }: Facts): string | undefined {
  return history.data.find(({ action }) => action === 'purged')?.created_at
}

function State({ facts }: { readonly facts: Facts }) {
  const { deleted_at } = facts.record
  const purged = purgedAt(facts)
  if (purged)
    return (
      <p>
        <Tag tone="bad">purged</Tag> <Time at={purged} />: its preferences, and whose it was, are gone. Its history
        still proves what was done.
      </p>
    )
  if (!deleted_at) return null
  return (
    <p>
      <Tag tone="bad">deleted</Tag> <Time at={deleted_at} />: it is in lists only with deleted ones, and can be restored
      until its personal data is purged.
    </p>
  )
}

type Question = 'change' | 'delete' | 'restore'

function Actions({ facts, onChanged }: PartProps) {
  const { id, deleted_at } = facts.record
  const mayChange = useMayChange()
  const [question, setQuestion] = useState<Question | null>(null)
  const [done, setDone] = useState('')
  const receipt = useAction(async () => {
    const text = await client.text(api.consents.receipt, { params: { id } })
    download(text, `receipt-${id}.json`, 'application/json')
    setDone(
      `Keep every byte of the receipt: a changed line end invalidates it. To check it: consentctl verify receipt-${id}.json`,
    )
  })
  const status = useRef<HTMLParagraphElement>(null)
  useEffect(() => {
    if (done) status.current?.focus() // the button that had the focus may be gone
  }, [done])
  const isLive = deleted_at === null
  const close = () => {
    setQuestion(null)
    onChanged() // the answer to a change may have been lost
  }
  const ask = (next: Question) => {
    setDone('')
    setQuestion(next)
  }
  const finish = (message: string) => {
    setDone(message)
    close()
  }
  return (
    <>
      <p ref={status} class="done" role="status" tabIndex={-1}>
        {done}
      </p>
      <p class="buttons">
        {isLive && <ActionButton action={receipt}>Download the receipt</ActionButton>}
        {mayChange && isLive && (
          <>
            <button type="button" onClick={() => ask('change')}>
              Change …
            </button>
            <button type="button" onClick={() => ask('delete')}>
              Delete …
            </button>
          </>
        )}
        {mayChange && !isLive && purgedAt(facts) === undefined && (
          <button type="button" onClick={() => ask('restore')}>
            Restore …
          </button>
        )}
      </p>
      <Problem error={receipt.error} retry={receipt.run} />
      {question === 'change' && <Change record={facts.record} onDone={finish} onClose={close} />}
      {question === 'delete' && <Delete record={facts.record} onDone={finish} onClose={close} />}
      {question === 'restore' && <Restore record={facts.record} onDone={finish} onClose={close} />}
    </>
  )
}
