import { useState } from 'preact/hooks'
import { api } from '../../../../src/contract/api.ts'
import { describeSealed } from '../../../../src/contract/retention.ts'
import type { Site } from '../../../../src/contract/sites.ts'
import { visible } from '../../../../src/output/safe.ts'
import { useCall } from '../call.ts'
import { Button } from '../parts/button.tsx'
import { Command, options } from '../parts/command.tsx'
import { FormDialog } from '../parts/dialog.tsx'
import { Field, Form, toNumber } from '../parts/form.tsx'
import { Mistake } from '../parts/problem.tsx'
import { Screen, Show } from '../parts/screen.tsx'
import { Secret } from '../parts/secret.tsx'
import {
  changeOf,
  neededNotice,
  never,
  risksOf,
  type SettingsChange,
  SiteFieldInputs,
  type SiteFields,
  toFields,
  updateCommand,
} from '../parts/site-settings.tsx'
import { Details } from '../parts/table.tsx'
import { Id, Link, Text, Time } from '../parts/text.tsx'
import { client, useEmail, useMay } from '../session.ts'
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
  const mayChange = useMay(api.sites.update)
  const found = useCall(() => readSite(id), [])
  const [edit, setEdit] = useState<Edit>()
  const [token, setToken] = useState<string | null>()
  const signIn = options({ email: useEmail() })
  const links = (
    <>
      <Link to={['sites']}>All sites</Link> · <Link to={['notices', id]}>Its notices</Link>
    </>
  )
  const command = edit ? updateCommand(edit.fields, edit.base) : ['list']
  return (
    <Screen title="Site" command={['sites', ...command, ...signIn]} links={links}>
      <Show of={found}>
        {site => (
          <>
            <Facts site={site} />
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

function Facts({ site }: { readonly site: Site }) {
  return (
    <Details
      of={{
        Name: <Text of={site.name} />,
        Id: <Id of={site.id} />,
        'Policy version': String(site.policy_version),
        'Allowed origins': <Text of={site.allowed_origins.join(' ')} />,
        'Deletes records': never(site.retention),
        'Sealed proof of purged records': describeSealed(site.sealed_proof) || 'none',
        'Strict notices': site.strict_notices ? 'yes' : 'no',
        Created: <Time at={site.created_at} />,
        Updated: <Time at={site.updated_at} />,
      }}
    />
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
  const { base, fields } = edit ?? { base: site, fields: toFields(site) }
  const isChanged = Object.keys(changeOf(fields, base, base)).length > 0
  const send = async (body: SettingsChange) => {
    onSaved(await client.call(api.sites.update, { params: { id: site.id }, body }))
    setAsked(undefined)
    setDone(true)
  }
  const save = async () => {
    setDone(false)
    const present = await readSite(site.id)
    const change = changeOf(fields, base, present)
    const risks = risksOf(change, base, present, await lacksNotice(neededNotice(change, present), site.id))
    if (risks.length > 0) setAsked({ change, risks })
    else await send(change)
  }
  return (
    <>
      <Form
        run={save}
        submit="Save"
        missing={isChanged ? '' : 'Nothing is changed.'}
        more={isChanged && <Button text="Undo what you typed" onClick={() => onEdit(undefined)} />}
      >
        <SiteFieldInputs fields={fields} onFields={changed => onEdit({ base, fields: changed })} />
      </Form>
      <p role="status">{isSaved && !isChanged && 'Saved.'}</p>
      {asked && (
        <FormDialog
          title="Save these changes?"
          onClose={() => setAsked(undefined)}
          run={() => send(asked.change)}
          submit="Save anyway"
          isDangerous
        >
          {asked.risks.map(risk => (
            <p key={risk}>{visible(risk)}</p>
          ))}
        </FormDialog>
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

/** Earlier tokens stay valid for the overlap. */
function Token({ id, token, onToken }: TokenProps) {
  const [hours, setHours] = useState('24')
  const [isAsked, setAsked] = useState(false)
  const [until, setUntil] = useState('')
  const signIn = options({ email: useEmail() })
  const isAtOnce = /^\s*0+\s*$/.test(hours)
  const issue = async () => {
    const body = { overlap_hours: toNumber(hours) }
    const issued = await client.call(api.sites.rotateToken, { params: { id }, body })
    setUntil(issued.previous_valid_until)
    onToken(issued.token)
    setAsked(false)
  }
  return (
    <>
      <h2>Token</h2>
      <p>
        The pages of the site send it. It is shown only when it is issued: if it is lost, or no answer comes, issue
        another.
      </p>
      <Form run={async () => (isAtOnce ? setAsked(true) : await issue())} submit="Issue a new token" hasOwnWords>
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
      <Command words={['sites', 'rotate-token', id, ...options({ overlap: hours.trim() }), ...signIn]} />
      {isAsked && (
        <FormDialog
          title="End the present token at once?"
          onClose={() => setAsked(false)}
          run={issue}
          submit="End it, and issue a new one"
          isDangerous
          hasOwnWords
        >
          <p>Every page of the site records no consent until it has the new token.</p>
        </FormDialog>
      )}
    </>
  )
}
