import { useState } from 'preact/hooks'
import { api } from '../../../../src/contract/api.ts'
import { type AccountEntry, type AuditAction, auditActions } from '../../../../src/contract/audit.ts'
import { visible } from '../../../../src/output/safe.ts'
import { useCall } from '../call.ts'
import { Button } from '../parts/button.tsx'
import { options } from '../parts/command.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { download } from '../parts/download.tsx'
import { Field, Form, fieldsOf, Select } from '../parts/form.tsx'
import { PagedTable, usePages } from '../parts/paged-table.tsx'
import { Screen } from '../parts/screen.tsx'
import { type Columns, Details, Table } from '../parts/table.tsx'
import { formatNumber, Link, Text, Time } from '../parts/text.tsx'
import { client } from '../session.ts'

const noFilters = { actor: '', action: '', target: '', from: '', to: '' }

export function Audit() {
  const [draft, setDraft] = useState(noFilters)
  const [filters, setFilters] = useState(noFilters)
  const field = fieldsOf(draft, setDraft)
  const [open, setOpen] = useState<AccountEntry | null>(null)
  const pages = usePages(cursor => client.call(api.audit.list, { query: { ...queryOf(filters), ...cursor } }), filters)
  const { value: names = noNames } = useCall(readNames, [])
  return (
    <Screen title="Audit" command={['audit', 'list', ...options(filters)]}>
      <p class="hint">
        Who changed which site, key, user, password, quota, notice or webhook, each purge, and each{' '}
        <code>admin import</code> of an account.
      </p>
      <Form run={async () => setFilters({ ...draft })} error={pages.page.error} submit="Show">
        <div class="filters">
          <Field label="By" hint="E-mail, key, admin, system" {...field('actor')} />
          <Select label="Change" options={actionOptions} {...field('action')} />
          <Field label="Of" hint="Id, or kind such as site" {...field('target')} />
          <Field label="From" hint="UTC day" type="date" {...field('from')} />
          <Field label="To" hint="UTC day, included" type="date" {...field('to')} />
        </div>
      </Form>
      <PagedTable
        label="Changes of settings, newest first"
        columns={columnsWith(setOpen, names)}
        pages={pages}
        empty="There are no such changes."
        emptyPage="None on this page. Older ones may match."
      />
      {open && <Entry of={open} onClose={() => setOpen(null)} />}
    </Screen>
  )
}

/** Takes `from` and `to` as whole days in UTC. */
function queryOf({ actor, action, target, from, to }: typeof noFilters) {
  return {
    ...(actor && { actor }),
    ...(action && { action: action as AuditAction }),
    ...(target && { target }),
    ...(from && { from: `${from}T00:00:00.000Z` }),
    ...(to && { to: `${to}T23:59:59.999Z` }),
  }
}

const actionOptions = [['', 'any'], ...auditActions.map(action => [action, wordsOf(action)] as const)] as const

const columnsWith = (onOpen: (entry: AccountEntry) => void, names: Names): Columns<AccountEntry> => ({
  Entry: entry => (
    <Button
      text={formatNumber(entry.version)}
      label={`Show entry ${formatNumber(entry.version)}`}
      kind="small"
      onClick={() => onOpen(entry)}
    />
  ),
  Time: ({ at }) => <Time at={at} />,
  By: ({ actor }) => <Text of={actorOf(actor)} />,
  Change: ({ action }) => wordsOf(action),
  Of: entry => <Target of={entry} names={names} />,
  Values: entry => <Text of={describeChange(entry)} />,
})

/** Links what has a screen of its own. An altered entry can name anything. */
function Target({ of: entry, names }: { readonly of: AccountEntry; readonly names: Names }) {
  const { kind, id, policy_version: version } = entry.target
  const text = targetOf(entry, names)
  const screen = screensOf[String(kind)]
  if (!screen || typeof id !== 'string' || entry.action.endsWith('_removed')) return <Text of={text} />
  return <Link to={[screen, id, ...(version === undefined ? [] : [String(version)])]}>{text}</Link>
}

const screensOf: Readonly<Record<string, string>> = {
  site: 'sites',
  notice: 'notices',
  request: 'requests',
  webhook: 'webhooks',
}

/** Such as `policy version 1 → 2, allowed origins +https://new.example`. Null for what is created or removed. */
function describeChange({ before, after }: AccountEntry): string | null {
  if (!before || !after) return null
  const names = Object.keys(after).filter(name => name !== 'updated_at')
  return names.map(name => `${wordsOf(name)} ${describeValues(before[name], after[name])}`).join(', ')
}

function describeValues(before: unknown, after: unknown): string {
  if (!Array.isArray(before) || !Array.isArray(after)) return `${valueText(before)} → ${valueText(after)}`
  const without = (all: unknown[], others: unknown[]) =>
    all.map(valueText).filter(each => !others.map(valueText).includes(each))
  const [added, removed] = [without(after, before), without(before, after)]
  return [...added.map(each => `+${each}`), ...removed.map(each => `−${each}`)].join(' ') || 'in another order'
}

function valueText(of: unknown): string {
  return of === null || of === undefined ? 'none' : typeof of === 'string' ? of : JSON.stringify(of)
}

function wordsOf(action: string): string {
  return visible(action.replaceAll('_', ' '))
}

function actorOf({ kind, id, name }: AccountEntry['actor']): string {
  if (kind === 'admin') return 'admin, a command on the machine'
  if (kind === 'system') return 'system, the service itself'
  const noun = kind === 'api_key' ? 'the key ' : ''
  return `${noun}${name ?? id ?? kind}`
}

/** Current names of sites and keys, by id. */
type Names = ReadonlyMap<unknown, string>

const noNames: Names = new Map()

async function readNames(): Promise<Names> {
  const lists = await Promise.all([client.call(api.sites.list, {}), client.call(api.keys.list, {})])
  return new Map(lists.flatMap(({ data }) => data.map(({ id, name }) => [id, name] as const)))
}

function targetOf({ target, after, before }: AccountEntry, names: Names): string {
  const { kind, id, policy_version: version } = target
  const { name, email, url } = { ...before, ...after } as Readonly<Record<string, unknown>>
  const noun = kind === 'api_key' ? 'key' : String(kind)
  const present = names.get(id)
  const named = name ?? email ?? url ?? (present === undefined ? id : `${id} (now ${present})`)
  if (version !== undefined) return `${noun} version ${version} of ${named}`
  return kind === 'account' ? noun : `${noun} ${named}`
}

function Entry({ of: entry, onClose }: { readonly of: AccountEntry; readonly onClose: () => void }) {
  const { version, at, action, actor, target, before, after, hash, document: text } = entry
  const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])]
  return (
    <Dialog title={`Entry ${formatNumber(version)}: ${wordsOf(action)}`} onClose={onClose}>
      <Details
        of={{
          Time: <Time at={at} />,
          By: <Text of={[actorOf(actor), actor.id].filter(Boolean).join(', ')} />,
          Of: <Text of={Object.values(target).join(' ')} />,
          'SHA-256': <code>{visible(hash)}</code>,
        }}
      />
      <Table
        label="Values before and after"
        columns={{
          Value: name => <Text of={name} />,
          Before: name => <Value of={before?.[name]} />,
          After: name => <Value of={after?.[name]} />,
        }}
        rows={names}
        empty="The entry has no values."
      />
      <h3>Document, as it was hashed</h3>
      <pre>{visible(text)}</pre>
      <p class="buttons">
        <Button text="Download the document" onClick={() => download(text, `audit-entry-${version}.json`)} />
        <Button text="Close" onClick={onClose} />
      </p>
    </Dialog>
  )
}

function Value({ of }: { readonly of: unknown }) {
  return <Text of={of === null || of === undefined ? null : valueText(of)} />
}
