import type { AuditEntry, History } from '../../../../../src/contract/consents.ts'
import { type ConsentState, consentStates } from '../../../../../src/evidence/state.ts'
import { visible } from '../../../../../src/output/safe.ts'
import { changesOf } from '../../../../../src/views/changes.ts'
import { stateWords } from '../../parts/preferences.tsx'
import { Id, Tag, Text, Time } from '../../parts/text.tsx'

type Entry = History['data'][number]

interface TimelineProps {
  readonly entries: readonly Entry[]
  /** `at`: RFC 3339. */
  readonly onMoment: (at: string) => void
}

export function Timeline({ entries, onMoment }: TimelineProps) {
  const isPurged = entries.some(({ action }) => action === 'purged')
  const states = isPurged ? [] : consentStates(entries)
  return (
    <ol class="timeline">
      {entries.map((entry, index) => (
        <li key={entry.id}>
          <Event
            entry={entry}
            before={entries[index - 1]}
            state={states[index]}
            stateBefore={states[index - 1]}
            onMoment={onMoment}
          />
        </li>
      ))}
    </ol>
  )
}

interface EventProps {
  readonly entry: Entry
  readonly before: Entry | undefined
  /** Undefined if the record is purged. */
  readonly state: ConsentState | undefined
  readonly stateBefore: ConsentState | undefined
  readonly onMoment: (at: string) => void
}

function Event({ entry, before, state, stateBefore, onMoment }: EventProps) {
  const changes = describe(entry, before, { state, stateBefore })
  const at = entry.given_at ?? entry.created_at
  return (
    <>
      <p class="event">
        <Tag tone={toneOf(entry.action)}>{wordOf(entry.action)}</Tag> <Time at={entry.created_at} />{' '}
        <Actor of={entry} />
      </p>
      {entry.given_at !== undefined && (
        <p>
          The person answered at <Time at={entry.given_at} />, by the word of the importer.
        </p>
      )}
      {changes.length > 0 && (
        <ul class="plain">
          {changes.map(change => (
            <li key={change}>
              <bdi>{visible(change)}</bdi>
            </li>
          ))}
        </ul>
      )}
      <p class="hint">
        {entry.file_sha256 !== undefined && (
          <>
            file <Id of={entry.file_sha256} />{' '}
          </>
        )}
        {entry.hash !== null && (
          <>
            hash <Id of={entry.hash} />
          </>
        )}{' '}
        <button type="button" class="small" onClick={() => onMoment(at)}>
          Show the record then
        </button>
      </p>
    </>
  )
}

const words: Readonly<Record<string, string>> = {
  restored_despite_erasure: 'restored despite an erasure request',
}

function wordOf(action: string | null): string {
  return visible(words[action ?? ''] ?? action ?? 'changed')
}

function toneOf(action: string | null): 'bad' | 'good' | 'plain' {
  if (action === 'deleted' || action === 'purged') return 'bad'
  return action?.startsWith('restored') ? 'good' : 'plain'
}

const kinds: Readonly<Record<string, string>> = {
  api_key: 'by the API key',
  user: 'by',
  site_token: 'by a visitor of the site',
  system: 'by the service',
}

function Actor({ of: { changed_by, actor_id, actor_name } }: { readonly of: Entry }) {
  const name = actor_name ?? actor_id
  return (
    <span>
      {visible(kinds[changed_by ?? ''] ?? `by ${changed_by}`)}
      {name && (
        <>
          {' '}
          <Text of={name} />
        </>
      )}
    </span>
  )
}

/** Leaves out the preferences of a purged record, which its history no longer has, and the state that follows from them. */
function describe(
  entry: Entry,
  before: AuditEntry | undefined,
  { state, stateBefore }: Pick<EventProps, 'state' | 'stateBefore'>,
): string[] {
  const preferences = state ? changesOf(entry, before) : []
  return [
    ...changeOf('accepted', yesNo(entry.accepted), before && yesNo(before.accepted)),
    ...changeOf('policy version', String(entry.policy_version), before && String(before.policy_version)),
    ...preferences,
    ...(state ? changeOf('consent', stateWords[state], stateBefore && stateWords[stateBefore]) : []),
    ...(entry.gpc ? ['with Sec-GPC: 1'] : []),
  ]
}

function changeOf(name: string, now: string, then: string | undefined): string[] {
  if (then === undefined) return [`${name}: ${now}`]
  return then === now ? [] : [`${name}: ${then} → ${now}`]
}

function yesNo(value: boolean | null): string {
  return value === null ? 'not known' : value ? 'yes' : 'no'
}
