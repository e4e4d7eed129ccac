import { useState } from 'preact/hooks'
import { api } from '../../../../src/contract/api.ts'
import type { Site } from '../../../../src/contract/sites.ts'
import { options } from '../parts/command.tsx'
import { Form } from '../parts/form.tsx'
import { Screen, Show } from '../parts/screen.tsx'
import { Secret } from '../parts/secret.tsx'
import { createCommand, never, newSiteFields, SiteFieldInputs, settingsOf } from '../parts/site-settings.tsx'
import { useSites } from '../parts/sites.tsx'
import { type Columns, Table } from '../parts/table.tsx'
import { Id, Link, Text, Time } from '../parts/text.tsx'
import { linkTo } from '../router.ts'
import { client, useEmail, useMay } from '../session.ts'
import { SiteScreen } from './site.tsx'
import { SiteSnippet } from './site-snippet.tsx'

/** `#/sites` is the list, `#/sites/new` a form, `#/sites/ID` a site. */
export function Sites({ params: [id] }: { readonly params: readonly string[] }) {
  if (id === undefined || id === '') return <SiteList />
  return id === 'new' ? <NewSite /> : <SiteScreen id={id} key={id} />
}

function SiteList() {
  const sites = useSites()
  const mayChange = useMay(api.sites.create)
  const create = mayChange && (
    <a class="button" href={linkTo('sites', 'new')}>
      New site
    </a>
  )
  return (
    <Screen title="Sites" command={['sites', 'list']} actions={create}>
      <Show of={sites}>{all => <Table label="Sites" columns={columns} rows={all} empty="There are no sites." />}</Show>
    </Screen>
  )
}

const mostOrigins = 3

function origins({ allowed_origins: all }: Site): string {
  const rest = all.length - mostOrigins
  return all.slice(0, mostOrigins).join(' ') + (rest > 0 ? ` and ${rest} more` : '')
}

const columns: Columns<Site> = {
  Name: ({ id, name }) => <Link to={['sites', id]}>{name}</Link>,
  'Policy version': row => String(row.policy_version),
  'Deletes records': row => never(row.retention),
  'Strict notices': row => (row.strict_notices ? 'yes' : 'no'),
  'Allowed origins': row => <Text of={origins(row)} />,
  Created: row => <Time at={row.created_at} />,
  Updated: row => <Time at={row.updated_at} />,
  Id: row => <Id of={row.id} />,
}

function NewSite() {
  const [fields, setFields] = useState(newSiteFields)
  const [created, setCreated] = useState<CreatedProps['site']>()
  const mayChange = useMay(api.sites.create)
  const signIn = options({ email: useEmail() })
  const create = async () => setCreated(await client.call(api.sites.create, { body: settingsOf(fields) }))
  if (created) return <CreatedSite site={created} onHidden={() => setCreated({ ...created, token: null })} />
  return (
    <Screen title="New site" {...(mayChange && { command: ['sites', ...createCommand(fields), ...signIn] })}>
      {mayChange ? (
        <Form run={create} submit="Create the site" more={<Link to={['sites']}>Cancel</Link>}>
          <SiteFieldInputs fields={fields} onFields={setFields} />
        </Form>
      ) : (
        <p class="empty">Only an owner can create sites.</p>
      )}
    </Screen>
  )
}

interface CreatedProps {
  readonly site: Site & { readonly token: string | null }
  readonly onHidden: () => void
}

function CreatedSite({ site, onHidden }: CreatedProps) {
  return (
    <Screen title="Site created" command={['sites', 'list']}>
      <p>
        <Text of={site.name} /> is ready. <Link to={['sites', site.id]}>Open it</Link>
      </p>
      <Secret label="The token of the site." value={site.token} onHidden={onHidden} />
      <SiteSnippet site={site} token={site.token ?? ''} />
    </Screen>
  )
}
