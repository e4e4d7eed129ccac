import { useState } from 'preact/hooks'
import { api } from '../../../../src/contract/api.ts'
import { defaultScopes, type Scope, scopes } from '../../../../src/contract/endpoint.ts'
import type { ApiKey } from '../../../../src/contract/keys.ts'
import { visible } from '../../../../src/output/safe.ts'
import { useAction, useCall } from '../call.ts'
import { Command, option } from '../parts/command.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Check, Field, Form } from '../parts/form.tsx'
import { Screen, Show } from '../parts/screen.tsx'
import { Secret } from '../parts/secret.tsx'
import { type Column, Details, Table } from '../parts/table.tsx'
import { Id, Tag, Text, Time } from '../parts/text.tsx'
import { client, useMayChange, useSession } from '../session.ts'

export function Keys() {
  const email = useSession().session?.user.email
  const mayChange = useMayChange()
  const keys = useCall(() => client.call(api.keys.list, {}), [])
  const [open, setOpen] = useState<'create' | ApiKey | null>(null)
  const [made, setMade] = useState<(Pick<ApiKey, 'id' | 'name'> & { readonly key: string | null }) | null>(null)
  const close = () => setOpen(null)
  return (
    <Screen
      title="Keys"
      command={['keys', 'list', ...option('email', email)]}
      actions={
        mayChange && (
          <button type="button" class="primary" onClick={() => setOpen('create')}>
            Create a key
          </button>
        )
      }
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
            columns={[...columns, ...(mayChange ? [revokeColumn(setOpen)] : []), createdColumn]}
            rows={data}
            rowKey={({ id }) => id}
            empty="The account has no API keys."
          />
        )}
      </Show>
      {open === 'create' && (
        <Create
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
function stateOf({ revoked_at, expires_at }: ApiKey): 'active' | 'expired' | 'revoked' {
  if (revoked_at !== null) return 'revoked'
  return expires_at !== null && Date.parse(expires_at) <= Date.now() ? 'expired' : 'active'
}

function State({ of }: { readonly of: ApiKey }) {
  const state = stateOf(of)
  return (
    <>
      <Tag tone={state === 'active' ? 'good' : 'bad'}>{state}</Tag>
      {of.revoked_at && <br />}
      {of.revoked_at && <Time at={of.revoked_at} />}
    </>
  )
}

const hintOf = ({ hint }: ApiKey) => (hint === null ? 'none' : `sk-…${visible(hint)}`)

const none = <span class="none">no user</span>

const columns: readonly Column<ApiKey>[] = [
  { title: 'Name', cell: ({ name }) => <Text of={name} /> },
  { title: 'Key', cell: key => <code>{hintOf(key)}</code> },
  { title: 'State', cell: key => <State of={key} /> },
  { title: 'Scopes', cell: ({ scopes }) => visible(scopes.join(', ')) },
  { title: 'Made by', cell: ({ created_by }) => (created_by === null ? none : <Text of={created_by} />) },
  { title: 'Last used (UTC)', cell: ({ last_used_on }) => last_used_on ?? <span class="none">never</span> },
  { title: 'Expires', cell: ({ expires_at }) => <Time at={expires_at} /> },
]

const createdColumn: Column<ApiKey> = { title: 'Created', cell: ({ created_at }) => <Time at={created_at} /> }

const revokeColumn = (onRevoke: (key: ApiKey) => void): Column<ApiKey> => ({
  title: 'Change',
  cell: key =>
    key.revoked_at === null && (
      <button type="button" class="small" aria-label={`Revoke ${visible(key.name)}`} onClick={() => onRevoke(key)}>
        Revoke
      </button>
    ),
})

const scopeTexts: Readonly<Record<Scope, string>> = {
  read: 'read: see everything',
  write: 'write: create and update records',
  erase: 'erase: delete and purge records',
  notices: 'notices: publish notices',
  import: 'import: import records with their history',
}

interface CreateProps {
  readonly onClose: () => void
  /** Called after an error: the key may have been created nevertheless. */
  readonly onLost: () => void
  readonly onDone: (key: ApiKey & { readonly key: string }) => void
}

function Create({ onClose, onLost, onDone }: CreateProps) {
  const email = useSession().session?.user.email
  const [name, setName] = useState('')
  const [chosen, setChosen] = useState<readonly Scope[]>(defaultScopes)
  const [expires, setExpires] = useState('')
  const action = useAction(async () => {
    const body = { name, scopes: [...chosen], ...(expires && { expires_at: `${expires}T23:59:59.999Z` }) }
    try {
      onDone(await client.call(api.keys.create, { body }))
    } catch (error) {
      onLost()
      throw error
    }
  })
  const choose = (scope: Scope, isChosen: boolean) =>
    setChosen(scopes.filter(each => (each === scope ? isChosen : chosen.includes(each))))
  return (
    <Dialog title="Create a key" onClose={onClose}>
      <Form action={action} submit="Create the key" onCancel={onClose}>
        <Field label="Name" name="name" hint="What uses it, such as backend." value={name} onValue={setName} />
        <fieldset>
          <legend>Scopes</legend>
          {scopes.map(scope => (
            <Check
              key={scope}
              label={scopeTexts[scope]}
              isChecked={chosen.includes(scope)}
              onValue={isChosen => choose(scope, isChosen)}
            />
          ))}
        </fieldset>
        <Field
          label="Expires"
          name="expires_at"
          hint="At the end of this day (UTC). Empty: never."
          type="date"
          value={expires}
          onValue={setExpires}
        />
      </Form>
      <Command
        words={[
          ...['keys', 'create'],
          ...option('email', email),
          ...option('name', name),
          ...option('scope', chosen.join(',')),
          ...option('expires', expires),
        ]}
      />
    </Dialog>
  )
}

interface RevokeProps {
  readonly of: ApiKey
  readonly onClose: () => void
  readonly onDone: (key: ApiKey) => void
}

function Revoke({ of: key, onClose, onDone }: RevokeProps) {
  const email = useSession().session?.user.email
  const action = useAction(async () => onDone(await client.call(api.keys.revoke, { params: { id: key.id } })))
  return (
    <Dialog title="Revoke this key?" onClose={onClose}>
      <p>Requests with it are rejected within a second. This cannot be undone.</p>
      <Details
        rows={[
          ['Name', <Text of={key.name} key="name" />],
          ['Id', <Id of={key.id} key="id" />],
          ['Key', <code key="hint">{hintOf(key)}</code>],
          ['Scopes', visible(key.scopes.join(', '))],
          ['Last used (UTC), when it was listed', key.last_used_on ?? 'never'],
        ]}
      />
      <Form action={action} submit="Revoke the key" isDangerous onCancel={onClose} />
      <Command words={['keys', 'revoke', key.id, ...option('email', email)]} />
    </Dialog>
  )
}
