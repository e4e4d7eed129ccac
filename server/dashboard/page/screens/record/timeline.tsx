import { describeCircumstances } from '../../../../../src/contract/circumstance-words.ts'
import type { History } from '../../../../../src/contract/consents.ts'
import type { Consent } from '../../../../../src/evidence/state.ts'
import { visible } from '../../../../../src/output/safe.ts'
import { eventAction, eventChanges } from '../../../../../src/views/changes.ts'
import { Button } from '../../parts/button.tsx'
import { stateWords } from '../../parts/preferences.tsx'
import { Id, Tag, Text, Time } from '../../parts/text.tsx'
import type { Facts } from './facts.ts'

type Entry = History['data'][number]

interface TimelineProps {
  readonly facts: Facts
  /** `at`: RFC 3339. */
  readonly onMoment: (at: string) => void
}

export function Timeline({ facts: { history, answers }, onMoment }: TimelineProps) {
  const entries = history.data
  return (
    <ol class="timeline">
      {entries.map((entry, index) => (
        <li key={entry.id}>
          <Event
            entry={entry}
            action={eventAction(entry, answers?.events[index]?.changed)}
            changes={describe(entry, { before: entries[index - 1], answers, index })}
            onMoment={onMoment}
          />
        </li>
      ))}
    </ol>
  )
}

interface EventProps extends Pick<TimelineProps, 'onMoment'> {
  readonly entry: Entry
  readonly action: string
  readonly changes: readonly string[]
}

function Event({ entry, action, changes, onMoment }: EventProps) {
  return (
    <>
      <p>
        <Tag tone={toneOf(action)}>{wordOf(action)}</Tag> <Time at={entry.created_at} /> <Text of={actorOf(entry)} />
      </p>
      {entry.given_at !== undefined && (
        <p>
          The person answered at <Time at={entry.given_at} />, as reported by the importer.
        </p>
      )}
      {changes.length > 0 && (
        <ul>
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
        <Button text="Show the record then" kind="small" onClick={() => onMoment(entry.given_at ?? entry.created_at)} />
      </p>
    </>
  )
}

const words: Readonly<Record<string, string>> = {
  restored_despite_erasure: 'restored despite an erasure request',
}

function wordOf(action: string): string {
  return visible(words[action] ?? (action || 'changed'))
}

function toneOf(action: string): 'bad' | 'good' | 'plain' {
  if (action === 'deleted' || action === 'purged' || action === 'withdrawn') return 'bad'
  return action.startsWith('restored') ? 'good' : 'plain'
}

const kinds: Readonly<Record<string, string>> = {
  api_key: 'by the API key',
  user: 'by',
  site_token: 'by a visitor of the site',
  system: 'by the service',
}

function actorOf({ changed_by, actor_id, actor_name }: Entry): string {
  return [kinds[changed_by ?? ''] ?? `by ${changed_by}`, actor_name ?? actor_id].filter(Boolean).join(' ')
}

interface Place {
  readonly before: Entry | undefined
  readonly answers: Consent | null
  readonly index: number
}

function describe(entry: Entry, { before, answers, index }: Place): string[] {
  const [event, earlier] = [answers?.events[index], answers?.events[index - 1]]
  return [
    ...changeOf('accepted', yesNo(entry.accepted), before && yesNo(before.accepted)),
    ...changeOf('policy version', String(entry.policy_version), before && String(before.policy_version)),
    ...(event ? eventChanges(entry, before, event.changed) : []),
    ...(event ? changeOf('consent', stateWords[event.state], earlier && stateWords[earlier.state]) : []),
    ...(entry.gpc ? ['with Sec-GPC: 1'] : []),
    ...circumstancesOf(entry),
    ...(entry.sealed ? [`keeps a sealed proof until ${entry.sealed.until}: ${entry.sealed.basis}`] : []),
  ]
}

function circumstancesOf({ circumstances }: Entry): string[] {
  const told = describeCircumstances(circumstances).map(words => words.join(' '))
  return told.length > 0 ? [`as the sender told: ${told.join(', ')}`] : []
}

function changeOf(name: string, now: string, then: string | undefined): string[] {
  if (then === undefined) return [`${name}: ${now}`]
  return then === now ? [] : [`${name}: ${then} → ${now}`]
}

function yesNo(value: boolean | null): string {
  return value === null ? 'not known' : value ? 'yes' : 'no'
}
