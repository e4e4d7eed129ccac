import { parseTar } from 'nanotar'
import { useEffect, useRef, useState } from 'preact/hooks'
import { api } from '../../../../src/contract/api.ts'
import words from '../../../../src/evidence/certificate-texts/en.json' with { type: 'json' }
import { useCall } from '../call.ts'
import { Button } from '../parts/button.tsx'
import { Command, options } from '../parts/command.tsx'
import { DownloadButton } from '../parts/download.tsx'
import { Screen, Show } from '../parts/screen.tsx'
import { Link, Tag, Time } from '../parts/text.tsx'
import { client, useMay } from '../session.ts'
import { Change } from './record/change.tsx'
import { RecordDetails } from './record/details.tsx'
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
            <Timeline facts={value} onMoment={show} />
            <Command words={['history', id]} />
            <StateAt facts={value} at={at} />
            <EvidencePack id={id} />
          </>
        )}
      </Show>
    </Screen>
  )
}

const glossary = [
  words.word_pack,
  words.word_receipt,
  words.word_log,
  words.word_notice,
  words.word_purged,
  words.word_reported,
  words.word_gpc,
]

function EvidencePack({ id }: { readonly id: string }) {
  const name = `evidence-${id}.tar`
  return (
    <>
      <h2>Evidence pack</h2>
      <p>
        An archive that proves this record without the service, with what is stored of the person in clear: the record,
        its history and receipt, the notice, if there is one, and proofs that the log has them. The service verifies it,
        and signs the list of its files. Its certificate is one page for people: who consented to what, when and how, if
        that still holds, what proves it and what does not.
      </p>
      <div class="buttons">
        <DownloadButton
          text="Download the evidence pack"
          name={name}
          type="application/x-tar"
          read={() => client.bytes(api.consents.evidence, { params: { id } })}
          note={`Downloaded. To check it: consentctl verify ${name}`}
        />
        <DownloadButton
          text="Download the certificate"
          name={`certificate-${id}.html`}
          type="text/html"
          read={() => readCertificate(id)}
          note="Downloaded. Open it in a browser to read it, to print it, or to save it as a PDF."
        />
      </div>
      <Command words={['evidence', id, '--out', name]} />
      <details>
        <summary>Words of the certificate</summary>
        <ul>
          {glossary.map(text => (
            <li key={text}>{text}</li>
          ))}
        </ul>
      </details>
    </>
  )
}

/** @throws Error if the instance makes packs without one */
async function readCertificate(id: string): Promise<Uint8Array> {
  const bytes = await client.bytes(api.consents.evidence, { params: { id } })
  const page = parseTar(bytes).find(({ name }) => name.endsWith('/certificate.html'))
  if (!page?.data) throw new Error('The evidence pack has no certificate.')
  return page.data
}

function State({ facts: { record, purgedAt } }: { readonly facts: Facts }) {
  const { deleted_at } = record
  if (purgedAt)
    return (
      <p>
        <Tag tone="bad">purged</Tag> <Time at={purgedAt} />: its preferences and its subject are gone. Its history still
        proves what was done.
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
  const mayChange = useMay(api.consents.update)
  const [question, setQuestion] = useState<Question | null>(null)
  const [done, setDone] = useState('')
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
      <div class="buttons">
        {isLive && (
          <DownloadButton
            text="Download the receipt"
            name={`receipt-${id}.json`}
            read={() => client.text(api.consents.receipt, { params: { id } })}
            note={`Keep every byte of the receipt: a changed line end invalidates it. To check it: consentctl verify receipt-${id}.json`}
          />
        )}
        {mayChange && isLive && (
          <>
            <Button text="Change …" onClick={() => ask('change')} />
            <Button text="Delete …" onClick={() => ask('delete')} />
          </>
        )}
        {mayChange && !isLive && !facts.purgedAt && <Button text="Restore …" onClick={() => ask('restore')} />}
      </div>
      {question === 'change' && <Change record={facts.record} onDone={finish} onClose={close} />}
      {question === 'delete' && <Delete record={facts.record} onDone={finish} onClose={close} />}
      {question === 'restore' && <Restore record={facts.record} onDone={finish} onClose={close} />}
    </>
  )
}
