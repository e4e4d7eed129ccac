import { useState } from 'preact/hooks'
import { api } from '../../../../src/contract/api.ts'
import { eventTypes } from '../../../../src/contract/events.ts'
import type { NewWebhook, Webhook } from '../../../../src/contract/webhooks.ts'
import { visible } from '../../../../src/output/safe.ts'
import { useCall } from '../call.ts'
import { Button } from '../parts/button.tsx'
import { options } from '../parts/command.tsx'
import { FormDialog } from '../parts/dialog.tsx'
import { Field, fieldsOf } from '../parts/form.tsx'
import { Screen, Show } from '../parts/screen.tsx'
import { Secret } from '../parts/secret.tsx'
import { SiteChecks, useSites } from '../parts/sites.tsx'
import { type Columns, Table } from '../parts/table.tsx'
import { Link } from '../parts/text.tsx'
import { client, useMay } from '../session.ts'
import { factsOf, WebhookScreen } from './webhook.tsx'

/** `#/webhooks` is the list, `#/webhooks/ID` a webhook. */
export function Webhooks({ params: [id] }: { readonly params: readonly string[] }) {
  return id ? <WebhookScreen id={id} key={id} /> : <List />
}

function List() {
  const mayChange = useMay(api.webhooks.create)
  const webhooks = useCall(() => client.call(api.webhooks.list, {}), [])
  const sites = useSites().value ?? []
  const [isOpen, setOpen] = useState(false)
  const [made, setMade] = useState<Pick<NewWebhook, 'url' | 'secret'>>()
  const columns: Columns<Webhook> = {
    URL: ({ id, url }) => <Link to={['webhooks', id]}>{url}</Link>,
    ...factsOf(sites),
  }
  return (
    <Screen
      title="Webhooks"
      command={['webhooks', 'list']}
      actions={mayChange && <Button text="Create a webhook" kind="primary" onClick={() => setOpen(true)} />}
    >
      {made && (
        <Secret
          label={`The secret of ${visible(made.url)}.`}
          value={made.secret}
          onHidden={() => setMade({ ...made, secret: null })}
        />
      )}
      <Show of={webhooks}>
        {({ data }) => (
          <Table
            label="Webhooks, newest first"
            columns={columns}
            rows={data}
            empty="The account has no webhooks. A webhook sends each event, signed, to a URL of yours."
          />
        )}
      </Show>
      {isOpen && (
        <Create
          onClose={() => setOpen(false)}
          onLost={webhooks.reload}
          onDone={({ secret, ...row }) => {
            webhooks.replace(value => ({ data: [row, ...(value?.data ?? [])] }))
            setMade({ url: row.url, secret })
            setOpen(false)
          }}
        />
      )}
    </Screen>
  )
}

interface CreateProps {
  readonly onClose: () => void
  /** Called after an error: the webhook may have been created nevertheless. */
  readonly onLost: () => void
  readonly onDone: (webhook: NewWebhook) => void
}

function Create({ onClose, onLost, onDone }: CreateProps) {
  const sites = useSites().value ?? []
  const [fields, setFields] = useState({ url: '', types: '' })
  const [ofSites, setOfSites] = useState<readonly string[]>([])
  const field = fieldsOf(fields, setFields)
  const { url } = fields
  const types = fields.types.split(/[\s,]+/).filter(Boolean)
  const run = async () => {
    const body = { url, ...(types.length > 0 && { types }), ...(ofSites.length > 0 && { site_ids: [...ofSites] }) }
    try {
      onDone(await client.call(api.webhooks.create, { body }))
    } catch (error) {
      onLost()
      throw error
    }
  }
  return (
    <FormDialog
      title="Create a webhook"
      onClose={onClose}
      run={run}
      submit="Create the webhook"
      command={['webhooks', 'create', url || 'URL', ...options({ type: types, site: ofSites })]}
    >
      <Field label="URL" hint="It gets the events from now on, as signed POST requests." isRequired {...field('url')} />
      <Field
        label="Types of events"
        hint={`Empty: every one. Types: ${eventTypes.join(', ')}. If no site is chosen, also changes that Audit lists, such as account.key_created.`}
        {...field('types')}
      />
      <SiteChecks sites={sites} chosen={ofSites} onChosen={setOfSites} />
    </FormDialog>
  )
}
