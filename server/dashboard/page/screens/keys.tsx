import { useState } from 'preact/hooks'
import { api } from '../../../../src/contract/api.ts'
import { type Scope, scopes } from '../../../../src/contract/endpoint.ts'
import type { ApiKey } from '../../../../src/contract/keys.ts'
import type { Site } from '../../../../src/contract/sites.ts'
import { visible } from '../../../../src/output/safe.ts'
import { useCall } from '../call.ts'
import { Button } from '../parts/button.tsx'
import { options } from '../parts/command.tsx'
import { FormDialog } from '../parts/dialog.tsx'
import { Checks, Field, fieldsOf } from '../parts/form.tsx'
import { Screen, Show } from '../parts/screen.tsx'
import { Secret } from '../parts/secret.tsx'
import { SiteChecks, SiteNames, useSites } from '../parts/sites.tsx'
import { type Columns, Details, Table } from '../parts/table.tsx'
import { Id, Tag, Text, Time } from '../parts/text.tsx'
import { client, useEmail, useMay } from '../session.ts'

export function Keys() {
  const mayChange = useMay(api.keys.create)
  const keys = useCall(() => client.call(api.keys.list, {}), [])
  const sites = useSites().value ?? []
  const [open, setOpen] = useState<'create' | ApiKey | null>(null)
  const [made, setMade] = useState<(Pick<ApiKey, 'id' | 'name'> & { readonly key: string | null }) | null>(null)
  const close = () => setOpen(null)
  return (
    <Screen
      title="Keys"
      command={['keys', 'list', ...options({ email: useEmail() })]}
      actions={mayChange && <Button text="Create a key" kind="primary" onClick={() => setOpen('create')} />}
    >
      {made && (
        <Secret
          label={`The key ${visible(made.name)} is created.`}
          value={made.key}
          onHidden={() => setMade({ ...made, key: null })}
        />
      )}
      <Show of={keys}>
        {({ data }) => (
          <Table
            label="API keys, newest first"
            columns={columnsWith(sites, mayChange ? setOpen : undefined)}
            rows={data}
            empty="The account has no API keys."
          />
        )}
      </Show>
      {open === 'create' && (
        <Create
          sites={sites}
          onClose={close}
          onLost={keys.reload}
          onDone={({ key, ...row }) => {
            keys.replace(value => ({ data: [row, ...(value?.data ?? [])] }))
            setMade({ ...row, key })
            close()
          }}
        />
      )}
      {open !== null && open !== 'create' && (
        <Revoke
          of={open}
          onClose={close}
          onDone={revoked => {
            keys.replace(value => ({ data: (value?.data ?? []).map(row => (row.id === revoked.id ? revoked : row)) }))
            if (made?.id === revoked.id) setMade(null)
            close()
          }}
        />
      )}
    </Screen>
  )
}

/** Compares the expiry with this machine's clock. */
function State({ of: { revoked_at, expires_at } }: { readonly of: ApiKey }) {
  if (revoked_at !== null)
    return (
      <>
        <Tag tone="bad">revoked</Tag> <Time at={revoked_at} />
      </>
    )
  const isExpired = expires_at !== null && Date.parse(expires_at) <= Date.now()
  return isExpired ? <Tag tone="bad">expired</Tag> : <Tag tone="good">active</Tag>
}

const hintOf = ({ hint }: ApiKey) => (hint === null ? 'none' : `sk-…${visible(hint)}`)

/** `onRevoke` is undefined for a user who may not. */
const columnsWith = (sites: readonly Site[], onRevoke: ((key: ApiKey) => void) | undefined): Columns<ApiKey> => {
  const change = (key: ApiKey) =>
    key.revoked_at === null && (
      <Button text="Revoke" label={`Revoke ${visible(key.name)}`} kind="small" onClick={() => onRevoke?.(key)} />
    )
  return {
    Name: ({ name }) => <Text of={name} />,
    Key: key => <code>{hintOf(key)}</code>,
    State: key => <State of={key} />,
    Scopes: ({ scopes }) => visible(scopes.join(', ')),
    Sites: ({ site_ids }) => <SiteNames sites={sites} ids={site_ids} />,
    'Made by': ({ created_by }) => (created_by === null ? <span class="none">no user</span> : <Text of={created_by} />),
    'Last used (UTC)': ({ last_used_on }) => last_used_on ?? <span class="none">never</span>,
    Expires: ({ expires_at }) => <Time at={expires_at} />,
    ...(onRevoke && { Change: change }),
    Created: ({ created_at }) => <Time at={created_at} />,
  }
}

const scopeTexts: Readonly<Record<Scope, string>> = {
  read: 'read: see everything',
  write: 'write: create and update records',
  erase: 'erase: delete and purge records',
  notices: 'notices: publish notices',
  import: 'import: import records with their history',
  webhooks: 'webhooks: see and change webhooks',
}

interface CreateProps {
  readonly sites: readonly Site[]
  readonly onClose: () => void
  /** Called after an error: the key may have been created nevertheless. */
  readonly onLost: () => void
  readonly onDone: (key: ApiKey & { readonly key: string }) => void
}

function Create({ sites, onClose, onLost, onDone }: CreateProps) {
  const email = useEmail()
  const [fields, setFields] = useState({ name: '', expires_at: '' })
  const [chosen, setChosen] = useState<readonly Scope[]>(['read'])
  const [ofSites, setOfSites] = useState<readonly string[]>([])
  const { name, expires_at: expires } = fields
  const field = fieldsOf(fields, setFields)
  const run = async () => {
    const body = {
      name,
      scopes: [...chosen],
      ...(ofSites.length > 0 && { site_ids: [...ofSites] }),
      ...(expires && { expires_at: `${expires}T23:59:59.999Z` }),
    }
    try {
      onDone(await client.call(api.keys.create, { body }))
    } catch (error) {
      onLost()
      throw error
    }
  }
  return (
    <FormDialog
      title="Create a key"
      onClose={onClose}
      run={run}
      submit="Create the key"
      command={['keys', 'create', ...options({ email, name, scope: chosen.join(','), site: ofSites, expires })]}
    >
      <Field label="Name" hint="What uses it, such as backend." {...field('name')} />
      <Checks
        legend="Scopes"
        options={scopes.map(scope => [scope, scopeTexts[scope]] as const)}
        chosen={chosen}
        onChosen={setChosen}
      />
      <SiteChecks sites={sites} chosen={ofSites} onChosen={setOfSites} />
      <Field label="Expires" hint="At the end of this day (UTC). Empty: never." type="date" {...field('expires_at')} />
    </FormDialog>
  )
}

interface RevokeProps {
  readonly of: ApiKey
  readonly onClose: () => void
  readonly onDone: (key: ApiKey) => void
}

function Revoke({ of: key, onClose, onDone }: RevokeProps) {
  const email = useEmail()
  return (
    <FormDialog
      title="Revoke this key?"
      onClose={onClose}
      run={async () => onDone(await client.call(api.keys.revoke, { params: { id: key.id } }))}
      submit="Revoke the key"
      isDangerous
      command={['keys', 'revoke', key.id, ...options({ email })]}
    >
      <p>Requests with it are rejected within a second. This cannot be undone.</p>
      <Details
        of={{
          Name: <Text of={key.name} />,
          Id: <Id of={key.id} />,
          Key: <code>{hintOf(key)}</code>,
          Scopes: visible(key.scopes.join(', ')),
          ...(key.site_ids && { Sites: visible(key.site_ids.join(', ')) }),
          'Last used (UTC), when it was listed': key.last_used_on ?? 'never',
        }}
      />
    </FormDialog>
  )
}
