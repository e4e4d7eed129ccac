import { useState } from 'preact/hooks'
import { api } from '../../../../../src/contract/api.ts'
import { askForPurged, orderPurge, previewPurge } from '../../../../../src/erasure/records.ts'
import { formatProofs } from '../../../../../src/erasure/sentences.ts'
import { useAction } from '../../call.ts'
import { Button } from '../../parts/button.tsx'
import { Field, Form, missingCount } from '../../parts/form.tsx'
import { Mistake, Problem } from '../../parts/problem.tsx'
import { Heading } from '../../parts/screen.tsx'
import { formatCount, formatNumber } from '../../parts/text.tsx'
import { client, useMay } from '../../session.ts'
import { type Purging, purge } from './erasure.ts'

interface PurgeProps {
  readonly ids: readonly string[]
  readonly purging: Purging | null
}

export function Purge({ ids, purging }: PurgeProps) {
  const [pending, setPending] = useState<number | null>(null)
  const preview = useAction(async () => {
    const count = await countPending(ids)
    if (count > 0) setPending(count)
    else await purge(ids, askForPurged(client))
  })
  if (!useMay(api.subjects.purge) || ids.length === 0) return null
  const isOver = purging?.isRunning || purging?.certified === ids.length
  return (
    <>
      <Heading step={`${pending} ${purging?.isRunning}`}>Purge</Heading>
      <p role="status">{purging && describePurge(purging, ids.length)}</p>
      {pending !== null && <PurgeForm ids={ids} pending={pending} close={() => setPending(null)} />}
      {pending === null && !isOver && (
        <>
          <p>
            The service purges deleted records by its own schedule. It can purge these now; nothing of them can then be
            restored.
          </p>
          <Problem error={preview.error ?? purging?.error} hasOwnWords />
          <p class="buttons">
            <Button text="Purge now …" isOff={preview.isRunning} onClick={preview.run} />
          </p>
        </>
      )}
    </>
  )
}

interface PurgeFormProps {
  readonly ids: readonly string[]
  readonly pending: number
  readonly close: () => void
}

function PurgeForm({ ids, pending, close }: PurgeFormProps) {
  const [typed, setTyped] = useState('')
  const run = async () => {
    await countPending(ids)
    close()
    await purge(ids, orderPurge(client))
  }
  return (
    <Form
      run={run}
      submit={`Purge ${formatCount(pending, 'record')} permanently`}
      isDangerous
      missing={missingCount(typed, pending)}
    >
      <Field
        label={`Type ${pending} to purge them. This cannot be undone.`}
        value={typed}
        onValue={setTyped}
        isRequired
      />
    </Form>
  )
}

/** @throws Mistake if a record is live again */
async function countPending(ids: readonly string[]): Promise<number> {
  const states = [...(await previewPurge(client, ids)).values()]
  const live = states.filter(state => state === 'live').length
  if (live === 0) return states.filter(state => state === 'deleted').length
  throw new Mistake(`Records of the erasure that are live again: ${live}. Nothing was purged: erase them first.`)
}

function describePurge({ isRunning, certified, sealed, error }: Purging, all: number): string {
  if (isRunning) return `Purging: do not close this page. ${formatNumber(certified)} of ${formatCount(all, 'record')}.`
  const others = all - certified
  const rest = error
    ? `${formatCount(others, 'record')} may be purged too: to purge again asks for their certificates.`
    : `${formatCount(others, 'record')} not certified as purged.`
  const sentence = `${formatCount(certified, 'record')}: personal data purged, as the service says and certifies.`
  const bases = [...new Set(sealed.map(({ basis }) => basis))].join('; ')
  const kept = `Kept: ${formatProofs(sealed.map(({ until }) => ({ until, proofs: 1 })))} (${bases}).`
  return [certified > 0 && sentence, sealed.length > 0 && kept, others > 0 && rest].filter(Boolean).join(' ')
}
