import { useState } from 'preact/hooks'
import { api } from '../../../../src/contract/api.ts'
import type { Site } from '../../../../src/contract/sites.ts'
import type { Webhook, WebhookAttempt, WebhookDetails } from '../../../../src/contract/webhooks.ts'
import { visible } from '../../../../src/output/safe.ts'
import { type Loaded, useAction, useCall } from '../call.ts'
import { Button } from '../parts/button.tsx'
import { options } from '../parts/command.tsx'
import { FormDialog } from '../parts/dialog.tsx'
import { Check, Field } from '../parts/form.tsx'
import { Problem } from '../parts/problem.tsx'
import { Screen, Show } from '../parts/screen.tsx'
import { Secret } from '../parts/secret.tsx'
import { SiteNames, useSites } from '../parts/sites.tsx'
import { type Columns, Details, Table } from '../parts/table.tsx'
import { formatTime, Id, Link, Tag, Text, Time } from '../parts/text.tsx'
import { linkTo } from '../router.ts'
import { client, useMay } from '../session.ts'

const tones = { active: 'good', failing: 'bad' } as Readonly<Record<string, 'good' | 'bad'>>

/** Cells by their titles, of the list and of one webhook. */
export const factsOf = (sites: readonly Site[]) =>
  ({
    State: ({ state, failing_since: since }) => (
      <>
        <Tag tone={tones[state] ?? 'plain'}>{visible(state)}</Tag>
        {since && state === 'failing' && [' since ', <Time key="since" at={since} />]}
      </>
    ),
    Events: ({ types }) => (types ? <Text of={types.join(', ')} /> : <span class="none">every type</span>),
    Sites: ({ site_ids }) => <SiteNames sites={sites} ids={site_ids} />,
    Undelivered: ({ undelivered }) => undelivered,
    'Next attempt': ({ next_attempt_at: at }) => (at ? <Time at={at} /> : <span class="none">none</span>),
  }) satisfies Columns<Webhook>

const attemptColumns: Columns<WebhookAttempt> = {
  Time: ({ at }) => <Time at={at} />,
  Event: ({ position }) => position,
  Result: ({ problem, status }) =>
    problem === null ? <Tag tone="good">{`answered ${status}`}</Tag> : <Text of={problem} />,
  Milliseconds: ({ ms }) => ms,
}

export function WebhookScreen({ id }: { readonly id: string }) {
  const mayChange = useMay(api.webhooks.update)
  const found = useCall(() => client.call(api.webhooks.get, { params: { id } }), [])
  const sites = useSites().value ?? []
  return (
    <Screen title="Webhook" command={['webhooks', 'show', id]} links={<Link to={['webhooks']}>All webhooks</Link>}>
      <Show of={found}>
        {webhook => (
          <>
            <Details
              of={{
                URL: <Text of={webhook.url} />,
                Id: <Id of={id} />,
                ...Object.fromEntries(Object.entries(factsOf(sites)).map(([title, cell]) => [title, cell(webhook)])),
                'Public key': webhook.public_key && <Id of={webhook.public_key} />,
                'Previous secret ends': webhook.previous_secret_until && <Time at={webhook.previous_secret_until} />,
              }}
            />
            {mayChange && <Changes of={webhook} found={found} />}
            <Table
              label="Last attempts, newest first"
              isTitled
              columns={attemptColumns}
              rows={webhook.attempts}
              empty="There are no attempts yet."
            />
          </>
        )}
      </Show>
    </Screen>
  )
}

function Changes({ of: webhook, found }: { readonly of: Webhook; readonly found: Loaded<WebhookDetails> }) {
  const params = { id: webhook.id }
  const isPaused = webhook.state === 'paused'
  const [open, setOpen] = useState<typeof NewSecret>()
  const [shown, setShown] = useState<{ readonly secret: string | null; readonly round: number }>()
  const [message, setMessage] = useState('')
  const onDone = (changed: Changed, words: string) => {
    const { secret, ...row } = changed
    found.replace(value => ({ attempts: [], ...value, ...row }))
    if (secret) setShown(before => ({ secret, round: (before?.round ?? 0) + 1 }))
    setMessage(words)
    setOpen(undefined)
  }
  const pause = useAction(async () => {
    const changed = await client.call(api.webhooks.update, { params, body: { paused: !isPaused } })
    onDone(changed, isPaused ? 'Resumed.' : 'Paused.')
  })
  const test = useAction(async () => {
    setMessage('Sending a test …')
    const { status, ms, problem } = await client.call(api.webhooks.test, { params }).finally(() => setMessage(''))
    setMessage(`Test: ${visible(problem ?? `answered ${status}`)}, ${ms} ms.`)
  })
  const ask = (dialog: typeof NewSecret) => () => setOpen(() => dialog)
  const Asked = open
  return (
    <>
      <p class="buttons">
        <Button text="Send a test" isOff={test.isRunning} onClick={test.run} />
        <Button text={isPaused ? 'Resume' : 'Pause'} isOff={pause.isRunning} onClick={pause.run} />
        <Button text="New secret …" onClick={ask(NewSecret)} />
        <Button text="Rewind …" onClick={ask(Rewind)} />
        <Button text="Remove …" onClick={ask(Remove)} />
        <Button text="Reload" isOff={found.isLoading} onClick={found.reload} />
      </p>
      <p role="status">{message}</p>
      <Problem error={test.error ?? pause.error} />
      {shown && (
        <Secret
          key={shown.round}
          label="The new secret of the webhook."
          value={shown.secret}
          onHidden={() => setShown({ ...shown, secret: null })}
        />
      )}
      {Asked && <Asked of={webhook} onClose={() => setOpen(undefined)} onDone={onDone} />}
    </>
  )
}

type Changed = Webhook & { readonly secret?: string | null }

interface AskedProps {
  readonly of: Webhook
  readonly onClose: () => void
  readonly onDone: (changed: Changed, words: string) => void
}

function NewSecret({ of: { id }, onClose, onDone }: AskedProps) {
  const [isAtOnce, setAtOnce] = useState(false)
  const run = async () => {
    const body = isAtOnce ? { overlap_hours: 0 } : {}
    const issued = await client.call(api.webhooks.rotateSecret, { params: { id }, body })
    onDone(issued, issued.secret === null ? 'The webhook has a new public key.' : '')
  }
  return (
    <FormDialog
      title="Issue a new secret?"
      onClose={onClose}
      run={run}
      submit="Issue a new secret"
      isDangerous={isAtOnce}
      command={['webhooks', 'rotate-secret', id, ...options({ overlap: isAtOnce && '0' })]}
    >
      <p>For 24 hours deliveries are signed with the present secret, too. An earlier one ends now.</p>
      <Check label="End the present secret now: others know it" value={isAtOnce} onValue={setAtOnce} />
    </FormDialog>
  )
}

function Rewind({ of: { id }, onClose, onDone }: AskedProps) {
  const [isAll, setAll] = useState(false)
  const [typed, setTyped] = useState('')
  const from = typed && `${typed.padEnd(19, ':00')}Z`
  const start = isAll ? 'the first event' : from && formatTime(from)
  const run = async () => {
    const body = isAll ? { after: null } : { from }
    onDone(await client.call(api.webhooks.rewind, { params: { id }, body }), `Rewound to ${start}.`)
  }
  return (
    <FormDialog
      title="Rewind this webhook?"
      onClose={onClose}
      run={run}
      submit={`Continue from ${start || '…'}`}
      isDangerous
      missing={start ? '' : 'Choose a day and time.'}
      command={start ? ['webhooks', 'rewind', id, ...options({ to: isAll ? 'start' : from })] : []}
    >
      <p>
        Events from then on, and perhaps some from before, are sent again with the same ids: a receiver that remembers
        ids ignores those that it has. What is undelivered from before is given up.
      </p>
      <Check label="From the first event of the account" value={isAll} onValue={setAll} />
      {!isAll && <Field label="From (UTC)" name="from" type="datetime-local" value={typed} onValue={setTyped} />}
    </FormDialog>
  )
}

function Remove({ of: { id, url, undelivered }, onClose }: AskedProps) {
  const run = async () => {
    await client.call(api.webhooks.remove, { params: { id } })
    location.hash = linkTo('webhooks')
  }
  return (
    <FormDialog
      title="Remove this webhook?"
      onClose={onClose}
      run={run}
      submit="Remove the webhook"
      isDangerous
      command={['webhooks', 'rm', id]}
    >
      <p>Nothing is sent to it any more, and its secret and attempts are deleted. This cannot be undone.</p>
      <Details of={{ URL: <Text of={url} />, Id: <Id of={id} />, Undelivered: String(undelivered) }} />
    </FormDialog>
  )
}
