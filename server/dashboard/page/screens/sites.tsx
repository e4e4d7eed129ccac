import { useState } from 'preact/hooks'
import type { Site } from '../../../../src/contract/sites.ts'
import { Field } from '../parts/form.tsx'
import { Screen, Show } from '../parts/screen.tsx'
import { never } from '../parts/site-settings.ts'
import { useSites } from '../parts/sites.tsx'
import { type Column, Table } from '../parts/table.tsx'
import { Id, Text, Time } from '../parts/text.tsx'
import { linkTo } from '../router.ts'
import { useMayChange } from '../session.ts'
import { SiteScreen } from './site.tsx'
import { NewSite } from './site-new.tsx'

/** `#/sites` is the list, `#/sites/new` a form, `#/sites/ID` a site. */
export function Sites({ params: [id] }: { readonly params: readonly string[] }) {
  if (id === undefined || id === '') return <SiteList />
  return id === 'new' ? <NewSite /> : <SiteScreen id={id} key={id} />
}

const fewSites = 10

function SiteList() {
  const sites = useSites()
  const mayChange = useMayChange()
  const [part, setPart] = useState('')
  const create = mayChange && (
    <a class="button" href={linkTo('sites', 'new')}>
      New site
    </a>
  )
  return (
    <Screen title="Sites" command={['sites', 'list']} actions={create}>
      <Show of={sites}>
        {all => (
          <>
            {all.length > fewSites && <Field label="Part of a name" value={part} onValue={setPart} />}
            <Table
              label="Sites"
              columns={columns}
              rows={all.filter(({ name }) => name.toLowerCase().includes(part.trim().toLowerCase()))}
              rowKey={row => row.id}
              empty={all.length > 0 ? 'No site has this in its name.' : 'There are no sites.'}
            />
          </>
        )}
      </Show>
    </Screen>
  )
}

const mostOrigins = 3

function origins({ allowed_origins: all }: Site): string {
  const rest = all.length - mostOrigins
  return all.slice(0, mostOrigins).join(' ') + (rest > 0 ? ` and ${rest} more` : '')
}

const columns: Column<Site>[] = [
  {
    title: 'Name',
    cell: ({ id, name }) => (
      <a href={linkTo('sites', id)}>
        <Text of={name} />
      </a>
    ),
  },
  { title: 'Policy version', isNumber: true, cell: row => row.policy_version },
  { title: 'Deletes unchanged records', cell: row => never(row.retention_days) },
  { title: 'Strict notices', cell: row => (row.strict_notices ? 'yes' : 'no') },
  { title: 'Allowed origins', cell: row => <Text of={origins(row)} /> },
  { title: 'Created', cell: row => <Time at={row.created_at} /> },
  { title: 'Updated', cell: row => <Time at={row.updated_at} /> },
  { title: 'Id', cell: row => <Id of={row.id} /> },
]
