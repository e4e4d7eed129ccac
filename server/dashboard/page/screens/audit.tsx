import { useState } from 'preact/hooks'
import { api } from '../../../../src/contract/api.ts'
import { type AccountEntry, type AuditAction, auditActions } from '../../../../src/contract/audit.ts'
import { visible } from '../../../../src/output/safe.ts'
import { useAction, useCall } from '../call.ts'
import { usePages } from '../pages.ts'
import { option } from '../parts/command.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { download } from '../parts/download.ts'
import { Field, Form, Select } from '../parts/form.tsx'
import { Pager } from '../parts/pager.tsx'
import { Screen, Show } from '../parts/screen.tsx'
import { type Column, Details, Table } from '../parts/table.tsx'
import { formatNumber, Text, Time } from '../parts/text.tsx'
import { client } from '../session.ts'

const noFilters = { actor: '', action: '', target: '', from: '', to: '' }
type Filters = typeof noFilters

export function Audit() {
  const [filters, setFilters] = useState(noFilters)
  const [open, setOpen] = useState<AccountEntry | null>(null)
  const pages = usePages([filters])
  const query = { ...queryOf(filters), ...(pages.cursor && { cursor: pages.cursor }) }
  const list = useCall(() => client.call(api.audit.list, { query }), [JSON.stringify(query)])
  const { value: names = noNames } = useCall(readNames, [])
  return (
    <Screen
      title="Audit"
      command={['audit', 'list', ...Object.entries(filters).flatMap(([name, value]) => option(name, value))]}
    >
      <p class="hint">
        Who changed which site, key, user, password, quota or notice, each purge, and each <code>admin import</code> of
        an account.
      </p>
      <FilterForm onApply={setFilters} error={list.error} />
      <Show of={list}>
        {({ data, next_cursor: next }) => (
          <>
            <Table
              label="Changes of settings, newest first"
              columns={columnsWith(setOpen, names)}
              rows={data}
              rowKey={({ version }) => String(version)}
              empty={next === null ? 'There are no such changes.' : 'None on this page. Older ones may match.'}
            />
            <Pager pages={pages} next={next} isLoading={list.isLoading} />
          </>
        )}
      </Show>
      {open && <Entry of={open} onClose={() => setOpen(null)} />}
    </Screen>
  )
}

/** Takes `from` and `to` as whole days in UTC. */
function queryOf({ actor, action, target, from, to }: Filters) {
  return {
    ...(actor && { actor }),
    ...(action && { action: action as AuditAction }),
    ...(target && { target }),
    ...(from && { from: `${from}T00:00:00.000Z` }),
    ...(to && { to: `${to}T23:59:59.999Z` }),
  }
}

const actionOptions = [['', 'any'], ...auditActions.map(action => [action, wordsOf(action)] as const)] as const

interface FilterFormProps {
  readonly onApply: (filters: Filters) => void
  /** The list's error, which names rejected filters. */
  readonly error: unknown
}

function FilterForm({ onApply, error }: FilterFormProps) {
  const [draft, setDraft] = useState(noFilters)
  const set = (name: keyof Filters) => (value: string) => setDraft({ ...draft, [name]: value })
  const action = useAction(async () => onApply(draft))
  return (
    <Form action={action} error={error} submit="Show">
      <div class="filters">
        <Field label="By" name="actor" hint="E-mail, key, admin, system" value={draft.actor} onValue={set('actor')} />
        <Select label="Change" value={draft.action} onValue={set('action')} options={actionOptions} />
        <Field label="Of" name="target" hint="Id, or kind such as site" value={draft.target} onValue={set('target')} />
        <Field label="From" name="from" hint="UTC day" type="date" value={draft.from} onValue={set('from')} />
        <Field label="To" name="to" hint="UTC day, included" type="date" value={draft.to} onValue={set('to')} />
      </div>
    </Form>
  )
}

const columnsWith = (onOpen: (entry: AccountEntry) => void, names: Names): readonly Column<AccountEntry>[] => [
  {
    title: 'Entry',
    cell: entry => (
      <button
        type="button"
        class="small"
        aria-label={`Show entry ${formatNumber(entry.version)}`}
        onClick={() => onOpen(entry)}
      >
        {formatNumber(entry.version)}
      </button>
    ),
    isNumber: true,
  },
  { title: 'Time', cell: ({ at }) => <Time at={at} /> },
  { title: 'By', cell: ({ actor }) => <Text of={actorOf(actor)} /> },
  { title: 'Change', cell: ({ action }) => wordsOf(action) },
  { title: 'Of', cell: entry => <Text of={targetOf(entry, names)} /> },
]

function wordsOf(action: string): string {
  return visible(action.replaceAll('_', ' '))
}

function actorOf({ kind, id, name }: AccountEntry['actor']): string {
  if (kind === 'admin') return 'admin, a command on the machine'
  if (kind === 'system') return 'system, the service itself'
  const noun = kind === 'api_key' ? 'the key ' : ''
  return `${noun}${name ?? id ?? kind}`
}

/** Present names of sites and keys, by id. */
type Names = ReadonlyMap<unknown, string>

const noNames: Names = new Map()

async function readNames(): Promise<Names> {
  const lists = await Promise.all([client.call(api.sites.list, {}), client.call(api.keys.list, {})])
  return new Map(lists.flatMap(({ data }) => data.map(({ id, name }) => [id, name] as const)))
}

/** Names the target by the entry's own name or e-mail, else by its id and present name. */
function targetOf({ target, after, before }: AccountEntry, names: Names): string {
  const { kind, id, policy_version: version } = target
  const { name, email } = { ...before, ...after } as {
    readonly name?: unknown
    readonly email?: unknown
  }
  const noun = kind === 'api_key' ? 'key' : String(kind)
  const present = names.get(id)
  const named = name ?? email ?? (present === undefined ? id : `${id} (now ${present})`)
  if (version !== undefined) return `${noun} version ${version} of ${named}`
  return kind === 'account' ? noun : `${noun} ${named}`
}

function Entry({ of: entry, onClose }: { readonly of: AccountEntry; readonly onClose: () => void }) {
  const { version, at, action, actor, target, before, after, hash, document: text } = entry
  const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])]
  return (
    <Dialog title={`Entry ${formatNumber(version)}: ${wordsOf(action)}`} isWide onClose={onClose}>
      <Details
        rows={[
          ['Time', <Time at={at} key="" />],
          ['By', <Text of={[actorOf(actor), actor.id].filter(Boolean).join(', ')} key="" />],
          ['Of', <Text of={Object.values(target).join(' ')} key="" />],
          ['SHA-256', <code key="">{visible(hash)}</code>],
        ]}
      />
      <Table
        label="Values before and after"
        columns={[
          { title: 'Value', cell: name => <Text of={name} /> },
          { title: 'Before', cell: name => <Value of={before?.[name]} /> },
          { title: 'After', cell: name => <Value of={after?.[name]} /> },
        ]}
        rows={names}
        rowKey={name => name}
        empty="The entry has no values."
      />
      <h3>Document, as it was hashed</h3>
      <pre>{visible(text)}</pre>
      <p class="buttons">
        <button type="button" onClick={() => download(text, `audit-entry-${version}.json`, 'application/json')}>
          Download the document
        </button>
        <button type="button" onClick={onClose}>
          Close
        </button>
      </p>
    </Dialog>
  )
}

function Value({ of }: { readonly of: unknown }) {
  return <Text of={of === null || of === undefined || typeof of === 'string' ? of : JSON.stringify(of)} />
}
