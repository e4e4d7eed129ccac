import { useState } from 'preact/hooks'
import { erasedRecordsLimit } from '../../../../src/contract/subjects.ts'
import { orderPurge, previewPurge } from '../../../../src/erasure/purge-calls.ts'
import { useAction } from '../call.ts'
import { Field, Form } from '../parts/form.tsx'
import { Mistake, Problem } from '../parts/problem.tsx'
import { formatCount } from '../parts/text.tsx'
import { client, useMayChange } from '../session.ts'
import { keepCertificates } from './erasure.ts'

/** Purges exactly the records that the erasure deleted, if the owner asks for it. */
export function Purge({ ids }: { readonly ids: readonly string[] }) {
  const [pending, setPending] = useState<number | null>(null)
  const [result, setResult] = useState<string | null>(null)
  const preview = useAction(async () => setPending(await countPending(ids)))
  if (!useMayChange() || ids.length === 0) return null
  return (
    <>
      <h2>Purge</h2>
      {result !== null ? (
        <p role="status">{result}</p>
      ) : pending === null ? (
        <>
          <p>
            The service purges deleted records by its own schedule. It can purge these now; nothing of them can then be
            restored.
          </p>
          <Problem error={preview.error} />
          <p class="buttons">
            <button type="button" disabled={preview.isRunning} onClick={preview.run}>
              Purge now …
            </button>
          </p>
        </>
      ) : (
        <PurgeForm ids={ids} pending={pending} onResult={setResult} />
      )}
    </>
  )
}

interface PurgeFormProps {
  readonly ids: readonly string[]
  readonly pending: number
  readonly onResult: (text: string) => void
}

function PurgeForm({ ids, pending, onResult }: PurgeFormProps) {
  const [typed, setTyped] = useState('')
  const action = useAction(async () => {
    await countPending(ids)
    onResult(await purge(ids))
  })
  return (
    <Form
      action={action}
      submit={`Purge ${formatCount(pending, 'record')} permanently`}
      isDangerous
      isDisabled={typed.trim() !== String(pending)}
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

/** Returns how many are deleted and not purged. @throws Mistake if one is live again */
async function countPending(ids: readonly string[]): Promise<number> {
  const states = [...(await previewPurge(client, ids)).values()]
  const live = states.filter(state => state === 'live').length
  if (live === 0) return states.filter(state => state === 'deleted').length
  throw new Mistake(`${formatCount(live, 'record')} of the erasure live again. Nothing was purged: erase them first.`)
}

/** Returns what the service says of the records. Its certificates are kept as they come. */
async function purge(ids: readonly string[]): Promise<string> {
  const order = orderPurge(client)
  let purged = 0
  for (let start = 0; start < ids.length; start += erasedRecordsLimit) {
    const { records, certificate } = await order(ids.slice(start, start + erasedRecordsLimit))
    purged += records.filter(({ state }) => state === 'purged').length
    if (certificate !== null) keepCertificates([certificate], 'purge')
  }
  const others = ids.length - purged
  const rest = others > 0 ? ` ${formatCount(others, 'record')} not purged.` : ''
  return `${formatCount(purged, 'record')}: personal data purged, as the service says and certifies.${rest}`
}
