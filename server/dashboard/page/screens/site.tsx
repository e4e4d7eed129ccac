import { useState } from 'preact/hooks'
import { api } from '../../../../src/contract/api.ts'
import type { Site } from '../../../../src/contract/sites.ts'
import { visible } from '../../../../src/output/safe.ts'
import { useAction, useCall } from '../call.ts'
import { Command, option } from '../parts/command.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Field, Form } from '../parts/form.tsx'
import { Mistake } from '../parts/problem.tsx'
import { Screen, Show } from '../parts/screen.tsx'
import { Secret } from '../parts/secret.tsx'
import { SiteFieldInputs } from '../parts/site-fields.tsx'
import {
  changeOf,
  fieldsOf,
  neededNotice,
  never,
  risksOf,
  type SettingsChange,
  type SiteFields,
  updateCommand,
} from '../parts/site-settings.ts'
import { Details } from '../parts/table.tsx'
import { Id, Text, Time } from '../parts/text.tsx'
import { linkTo } from '../router.ts'
import { client, useMayChange, useSession } from '../session.ts'
import { SiteSnippet } from './site-snippet.tsx'

async function readSite(id: string): Promise<Site> {
  const { data } = await client.call(api.sites.list, {})
  const site = data.find(each => each.id === id)
  if (site) return site
  throw new Mistake('There is no such site.')
}

/** Returns true if no notice of the version is both published and in the signed log. */
async function lacksNotice(version: number | undefined, id: string): Promise<boolean> {
  if (version === undefined) return false
  const { data } = await client.call(api.notices.list, { params: { id } })
  return !data.some(({ policy_version, leaf_index }) => policy_version === version && leaf_index !== null)
}

/** `base`: the site when the user began to type, so that only changed fields are sent. */
interface Edit {
  readonly base: Site
  readonly fields: SiteFields
}

export function SiteScreen({ id }: { readonly id: string }) {
  const mayChange = useMayChange()
  const found = useCall(() => readSite(id), [])
  const [edit, setEdit] = useState<Edit>()
  const [token, setToken] = useState<string | null>()
  const signIn = option('email', useSession().session?.user.email)
  const command = edit ? updateCommand(edit.fields, edit.base) : ['list']
  return (
    <Screen title="Site" command={['sites', ...command, ...signIn]}>
      <Show of={found}>
        {site => (
          <>
            <Facts site={site} isWhole={!mayChange} />
            {mayChange && (
              <>
                <h2>Settings</h2>
                <Settings
                  site={site}
                  edit={edit}
                  onEdit={setEdit}
                  onSaved={now => {
                    found.replace(() => now)
                    setEdit(undefined)
                  }}
                />
                <Token id={id} token={token} onToken={setToken} />
              </>
            )}
            <SiteSnippet site={site} token={token ?? ''} />
          </>
        )}
      </Show>
    </Screen>
  )
}

/** `isWhole` adds the settings, for readers, who get no form. */
function Facts({ site, isWhole }: { readonly site: Site; readonly isWhole: boolean }) {
  const settings = [
    ['Policy version', site.policy_version],
    ['Allowed origins', <Text of={site.allowed_origins.join(' ')} key="" />],
    ['Deletes unchanged records', never(site.retention_days)],
    ['Strict notices', site.strict_notices ? 'yes' : 'no'],
  ] as const
  return (
    <>
      <Details
        rows={[
          ['Name', <Text of={site.name} key="" />],
          ['Id', <Id of={site.id} key="" />],
          ...(isWhole ? settings : []),
          ['Created', <Time at={site.created_at} key="" />],
          ['Updated', <Time at={site.updated_at} key="" />],
        ]}
      />
      <p>
        <a href={linkTo('sites')}>All sites</a> · <a href={linkTo('notices', site.id)}>Its notices</a>
      </p>
    </>
  )
}

interface SettingsProps {
  readonly site: Site
  readonly edit: Edit | undefined
  readonly onEdit: (edit: Edit | undefined) => void
  readonly onSaved: (site: Site) => void
}

function Settings({ site, edit, onEdit, onSaved }: SettingsProps) {
  const [asked, setAsked] = useState<{ readonly change: SettingsChange; readonly risks: readonly string[] }>()
  const [isSaved, setDone] = useState(false)
  const { base, fields } = edit ?? { base: site, fields: fieldsOf(site) }
  const isChanged = Object.keys(changeOf(fields, base, base)).length > 0
  const send = async (body: SettingsChange) => {
    onSaved(await client.call(api.sites.update, { params: { id: site.id }, body }))
    setAsked(undefined)
    setDone(true)
  }
  const saving = useAction(async () => {
    setDone(false)
    const present = await readSite(site.id)
    const change = changeOf(fields, base, present)
    const risks = risksOf(change, base, present, await lacksNotice(neededNotice(change, present), site.id))
    confirming.dismiss()
    if (risks.length > 0) setAsked({ change, risks })
    else await send(change)
  })
  const confirming = useAction(async () => asked && (await send(asked.change)))
  return (
    <>
      <Form
        action={saving}
        submit="Save"
        missing={isChanged ? '' : 'Nothing is changed.'}
        more={
          isChanged && (
            <button type="button" onClick={() => onEdit(undefined)}>
              Undo what you typed
            </button>
          )
        }
      >
        <SiteFieldInputs fields={fields} onFields={changed => onEdit({ base, fields: changed })} />
      </Form>
      <p role="status">{isSaved && !isChanged && 'Saved.'}</p>
      {asked && (
        <Dialog title="Save these changes?" onClose={() => setAsked(undefined)}>
          <ul>
            {asked.risks.map(risk => (
              <li key={risk}>{visible(risk)}</li>
            ))}
          </ul>
          <Form action={confirming} submit="Save anyway" isDangerous onCancel={() => setAsked(undefined)} />
        </Dialog>
      )}
    </>
  )
}

interface TokenProps {
  readonly id: string
  /** Undefined before one is issued, null after it was hidden. */
  readonly token: string | null | undefined
  readonly onToken: (token: string | null) => void
}

/** Issues a token, shown once. Earlier ones stay valid for the overlap. */
function Token({ id, token, onToken }: TokenProps) {
  const [hours, setHours] = useState('24')
  const [isAsked, setAsked] = useState(false)
  const [until, setUntil] = useState('')
  const signIn = option('email', useSession().session?.user.email)
  const isAtOnce = /^\s*0+\s*$/.test(hours)
  const issue = async () => {
    const overlap = /^\d{1,9}$/.test(hours.trim()) ? Number(hours) : (hours as unknown as number)
    const issued = await client.call(api.sites.rotateToken, { params: { id }, body: { overlap_hours: overlap } })
    setUntil(issued.previous_valid_until)
    onToken(issued.token)
    setAsked(false)
  }
  const issuing = useAction(async () => {
    confirming.dismiss()
    if (isAtOnce) setAsked(true)
    else await issue()
  })
  const confirming = useAction(issue)
  return (
    <>
      <h2>Token</h2>
      <p>
        The pages of the site send it. It is shown only when it is issued: if it is lost, or no answer comes, issue
        another.
      </p>
      <Form action={issuing} submit="Issue a new token" hasOwnWords>
        <Field
          label="Hours until older tokens expire"
          name="overlap_hours"
          hint="0 ends them at once: for a token that is misused."
          value={hours}
          onValue={setHours}
        />
      </Form>
      {token !== undefined && (
        <>
          <Secret key={until} label="The new token of the site." value={token} onHidden={() => onToken(null)} />
          <p>
            Earlier ones work until <Time at={until} />: put the new one in the pages before.
          </p>
        </>
      )}
      <Command words={['sites', 'rotate-token', id, ...option('overlap', hours.trim()), ...signIn]} />
      {isAsked && (
        <Dialog title="End the present token at once?" onClose={() => setAsked(false)}>
          <p>Every page of the site records no consent until it has the new token.</p>
          <Form
            action={confirming}
            submit="End it, and issue a new one"
            isDangerous
            hasOwnWords
            onCancel={() => setAsked(false)}
          />
        </Dialog>
      )}
    </>
  )
}
