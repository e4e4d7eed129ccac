import { useState } from 'preact/hooks'
import { api } from '../../../../src/contract/api.ts'
import type { Site } from '../../../../src/contract/sites.ts'
import { useAction } from '../call.ts'
import { option } from '../parts/command.tsx'
import { Form } from '../parts/form.tsx'
import { Screen } from '../parts/screen.tsx'
import { Secret } from '../parts/secret.tsx'
import { SiteFieldInputs } from '../parts/site-fields.tsx'
import { createCommand, newSiteFields, settingsOf } from '../parts/site-settings.ts'
import { Text } from '../parts/text.tsx'
import { linkTo } from '../router.ts'
import { client, useMayChange, useSession } from '../session.ts'
import { SiteSnippet } from './site-snippet.tsx'

export function NewSite() {
  const [fields, setFields] = useState(newSiteFields)
  const [created, setCreated] = useState<CreatedProps['site']>()
  const mayChange = useMayChange()
  const signIn = option('email', useSession().session?.user.email)
  const creating = useAction(async () => {
    setCreated(await client.call(api.sites.create, { body: settingsOf(fields) }))
  })
  if (created) return <CreatedSite site={created} onHidden={() => setCreated({ ...created, token: null })} />
  return (
    <Screen title="New site" {...(mayChange && { command: ['sites', ...createCommand(fields), ...signIn] })}>
      {mayChange ? (
        <Form action={creating} submit="Create the site" more={<a href={linkTo('sites')}>Cancel</a>}>
          <SiteFieldInputs fields={fields} onFields={setFields} />
        </Form>
      ) : (
        <p class="empty">Readers cannot create sites.</p>
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
        <Text of={site.name} /> is ready. <a href={linkTo('sites', site.id)}>Open it</a>
      </p>
      <Secret label="The token of the site." value={site.token} onHidden={onHidden} />
      <SiteSnippet site={site} token={site.token ?? ''} />
    </Screen>
  )
}
