import { useEffect, useRef, useState } from 'preact/hooks'
import { api } from '../../../../src/contract/api.ts'
import { useAction, useCall } from '../call.ts'
import { Button } from '../parts/button.tsx'
import { Command, options } from '../parts/command.tsx'
import { download } from '../parts/file.ts'
import { Problem } from '../parts/problem.tsx'
import { Screen, Show } from '../parts/screen.tsx'
import { Link, Tag, Time } from '../parts/text.tsx'
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
  const show = (moment: string) => {
    setAt(moment)
    document.getElementById('moment')?.focus()
  }
  return (
    <Screen
      title="Record"
      command={['get', id, ...options({ at }), '--include-deleted']}
      links={<Link to={['records']}>All records</Link>}
    >
      <Show of={facts}>
        {value => (
          <>
            <State facts={value} />
            <Actions facts={value} onChanged={facts.reload} />
            <RecordDetails of={value} />
            <h2>History</h2>
            <Timeline entries={value.history.data} onMoment={show} />
            <Command words={['history', id]} />
            <StateAt facts={value} at={at} onMoment={show} />
            <EvidencePack id={id} />
          </>
        )}
      </Show>
    </Screen>
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

interface ActionsProps {
  readonly facts: Facts
  readonly onChanged: () => void
}

function Actions({ facts, onChanged }: ActionsProps) {
  const { id, deleted_at } = facts.record
  const mayChange = useMayChange()
  const [question, setQuestion] = useState<Question | null>(null)
  const [done, setDone] = useState('')
  const receipt = useAction(async () => {
    const text = await client.text(api.consents.receipt, { params: { id } })
    download(text, `receipt-${id}.json`)
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
      <p ref={status} role="status" tabIndex={-1}>
        {done}
      </p>
      <p class="buttons">
        {isLive && <Button text="Download the receipt" isOff={receipt.isRunning} onClick={receipt.run} />}
        {mayChange && isLive && (
          <>
            <Button text="Change …" onClick={() => ask('change')} />
            <Button text="Delete …" onClick={() => ask('delete')} />
          </>
        )}
        {mayChange && !isLive && purgedAt(facts) === undefined && (
          <Button text="Restore …" onClick={() => ask('restore')} />
        )}
      </p>
      <Problem error={receipt.error} retry={receipt.run} />
      {question === 'change' && <Change record={facts.record} onDone={finish} onClose={close} />}
      {question === 'delete' && <Delete record={facts.record} onDone={finish} onClose={close} />}
      {question === 'restore' && <Restore record={facts.record} onDone={finish} onClose={close} />}
    </>
  )
}
