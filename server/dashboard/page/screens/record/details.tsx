import type { CheckAnswer } from '../../../../../src/contract/check.ts'
import { purposeWords } from '../../../../../src/evidence/state.ts'
import { visible } from '../../../../../src/output/safe.ts'
import { Preferences, stateWords } from '../../parts/preferences.tsx'
import { useSites } from '../../parts/sites.tsx'
import { Details } from '../../parts/table.tsx'
import { Id, Link, Tag, Text, Time } from '../../parts/text.tsx'
import type { Facts } from './facts.ts'

export function RecordDetails({ of: facts }: { readonly of: Facts }) {
  const { record, history, check } = facts
  const { origin } = record
  const site = useSites().value?.find(({ id }) => id === record.site_id)
  return (
    <Details
      of={{
        Id: <Id of={record.id} />,
        Subject: <Text of={record.subject_id} />,
        Consent: stateOf(facts),
        'By purpose': <Purposes of={facts} />,
        Preferences: <Preferences of={record.preferences} />,
        Label: <Text of={record.consent_id} />,
        Site: (
          <>
            {site && <Text of={site.name} />} <Id of={record.site_id ?? ''} />
          </>
        ),
        'Policy version': record.policy_version ?? '',
        Notice: <Notice of={facts} />,
        'Valid until': check?.record && <End id={record.id} check={check} />,
        Created: <Time at={record.created_at} />,
        'Changed last': <Time at={record.updated_at} />,
        Deleted: record.deleted_at && <Time at={record.deleted_at} />,
        'Imported from': origin && <Text of={origin.system} />,
        'Its id there': origin && <Text of={origin.id} />,
        Evidence: origin && <Text of={origin.evidence} />,
        'Answered, as imported': origin && <Time at={record.given_at} />,
        'Country, region': <Text of={[record.country, record.region].filter(Boolean).join(', ')} />,
        'Address, as stored': <Text of={history.ip_network} />,
        'User agent': <Text of={record.user_agent} />,
        'Global Privacy Control': record.gpc ? 'the last answer came with it' : 'not signalled',
      }}
    />
  )
}

function stateOf({ answers }: Facts): string {
  const state = answers?.events.at(-1)?.state
  return state ? stateWords[state] : 'not known'
}

function Purposes({ of: { answers, history } }: { readonly of: Facts }) {
  if (!answers?.purposes.length) return <span class="none">{answers ? 'none was answered' : 'not known'}</span>
  return (
    <ul>
      {answers.purposes.map(({ purpose, state, since }) => {
        const entry = since === null ? undefined : history.data[since]
        return (
          <li key={purpose}>
            <bdi>{visible(purpose)}</bdi>: {purposeWords(state)}
            {entry && (
              <>
                {' '}
                since <Time at={entry.given_at ?? entry.created_at} />
              </>
            )}
          </li>
        )
      })}
    </ul>
  )
}

function Notice({ of: { record, history, notice } }: { readonly of: Facts }) {
  if (!history.notice_entry) return <span class="none">not held when the record was written</span>
  return (
    <>
      {notice ? (
        <Link to={['notices', notice.site_id, String(notice.policy_version)]}>version {notice.policy_version}</Link>
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

/** `check` answers for the person's newest record, which may be a different one. */
function End({ id, check: { record, expires_at, at } }: { readonly id: string; readonly check: CheckAnswer }) {
  if (record && record.id !== id)
    return (
      <>
        counts no longer: the person has a <Link to={['records', record.id]}>newer answer</Link>
      </>
    )
  if (expires_at === null) return <>no end</>
  return (
    <>
      <Time at={expires_at} /> {expires_at <= at && <Tag tone="bad">expired</Tag>}
    </>
  )
}
