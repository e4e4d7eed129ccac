import type { ComponentChildren } from 'preact'
import type { CheckAnswer } from '../../../../../src/contract/check.ts'
import type { Consent, History } from '../../../../../src/contract/consents.ts'
import { consentStates } from '../../../../../src/evidence/state.ts'
import { Preferences, stateWords } from '../../parts/preferences.tsx'
import { useSites } from '../../parts/sites.tsx'
import { Details } from '../../parts/table.tsx'
import { Id, Tag, Text, Time } from '../../parts/text.tsx'
import { linkTo } from '../../router.ts'
import type { Facts } from './facts.ts'

type Rows = readonly (readonly [name: string, value: ComponentChildren])[]

export function RecordDetails({ of: facts }: { readonly of: Facts }) {
  const { record, history, check } = facts
  const site = useSites().value?.find(({ id }) => id === record.site_id)
  return (
    <Details
      rows={[
        ['Id', <Id of={record.id} key="" />],
        ['Subject', <Text of={record.subject_id} key="" />],
        ['Consent', stateOf(history)],
        ['Preferences', <Preferences of={record.preferences} key="" />],
        ['Label', <Text of={record.consent_id} key="" />],
        [
          'Site',
          <>
            {site && <Text of={site.name} />} <Id of={record.site_id ?? ''} />
          </>,
        ],
        ['Policy version', record.policy_version],
        ['Notice', <Notice of={facts} key="" />],
        ...(check?.record ? [['Valid until', <End id={record.id} check={check} key="" />] as const] : []),
        ['Created', <Time at={record.created_at} key="" />],
        ['Changed last', <Time at={record.updated_at} key="" />],
        ...(record.deleted_at ? [['Deleted', <Time at={record.deleted_at} key="" />] as const] : []),
        ...originRows(record),
        ['Country, region', <Text of={[record.country, record.region].filter(Boolean).join(', ')} key="" />],
        ['Address, as stored', <Text of={history.ip_network} key="" />],
        ['User agent', <Text of={record.user_agent} key="" />],
        ['Global Privacy Control', record.gpc ? 'the last answer came with it' : 'not signalled'],
      ]}
    />
  )
}

/** A purge removes the purposes. */
function stateOf({ data }: History): string {
  const state = consentStates(data).at(-1)
  return !state || data.at(-1)?.action === 'purged' ? 'not known' : stateWords[state]
}

function originRows({ origin, given_at }: Consent): Rows {
  if (!origin) return []
  return [
    ['Imported from', <Text of={origin.system} key="" />],
    ['Its id there', <Text of={origin.id} key="" />],
    ['Evidence', <Text of={origin.evidence} key="" />],
    ['Answered, as imported', <Time at={given_at} key="" />],
  ]
}

function Notice({ of: { record, history, notice } }: { readonly of: Facts }) {
  if (!history.notice_entry) return <span class="none">not held when the record was written</span>
  return (
    <>
      {notice ? (
        <a href={linkTo('notices', notice.site_id, String(notice.policy_version))}>version {notice.policy_version}</a>
      ) : (
        `version ${record.policy_version}`
      )}
      , published by entry {history.notice_entry} of the audit
      {notice?.valid_for && `, valid for ${notice.valid_for}`}
      {record.notice_locale && (
        <>
          , shown in <Text of={record.notice_locale} />
        </>
      )}
    </>
  )
}

/** `check` answers for the person's newest record, which may be another one. */
function End({ id, check: { record, expires_at, at } }: { readonly id: string; readonly check: CheckAnswer }) {
  if (record && record.id !== id)
    return (
      <>
        counts no longer: the person has a <a href={linkTo('records', record.id)}>newer answer</a>
      </>
    )
  if (expires_at === null) return <>no end</>
  return (
    <>
      <Time at={expires_at} /> {expires_at <= at && <Tag tone="bad">expired</Tag>}
    </>
  )
}
