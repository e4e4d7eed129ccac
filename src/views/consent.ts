import { describeCircumstances } from '../contract/circumstance-words.ts'
import type { AuditEntry, Consent } from '../contract/index.ts'
import { consentOf, currentState } from '../evidence/state.ts'
import { type Column, toneOf, type View } from '../output/index.ts'
import { eventAction, eventChanges } from './changes.ts'
import { day, field, minute, second, stateField } from './field.ts'

/** Some instances return only a deleted record's id. */
export type ConsentRow = { readonly [Name in keyof Consent]?: Consent[Name] | null } & Pick<Consent, 'id'> & {
    /** Source of a past state. */
    readonly word?: 'importer' | 'service'
  }

function yesNo(value: boolean | null | undefined): string {
  return value === null || value === undefined ? '' : value ? 'yes' : 'no'
}

type Accepted = Pick<ConsentRow, 'accepted' | 'preferences'>

const consentWords = { given: 'yes', partly: 'partly', withdrawn: 'no', refused: 'no' } as const

/** By the purposes too: acceptance without one that is true is no consent. Empty if it is not known. */
function consentWord({ accepted = null, preferences = null }: Accepted): string {
  return accepted === null ? '' : consentWords[currentState({ accepted, preferences })]
}

const consentTones: Readonly<Record<string, string>> = { yes: 'accepted', partly: 'accepted', no: 'refused' }

function acceptedField<Row extends Accepted>(rank: number, word: (row: Row) => string = consentWord): Column<Row> {
  return field('accepted', { text: word, tone: row => toneOf(consentTones[word(row)]), rank })
}

const preferenceParts = {
  prefix: 'pref.',
  of: ({ preferences }: { readonly preferences?: Readonly<Record<string, unknown>> | null }) => preferences,
}

const originParts = { prefix: 'origin.', of: ({ origin }: ConsentRow) => origin, isSpread: true }

export const consentView: View<ConsentRow> = {
  id: row => row.id,
  columns: [
    field('id', { whole: true, rank: 1 }),
    field('site_id', { whole: true, rank: 7 }),
    field('consent_id', { rank: 5 }),
    field('subject_id', { rank: 2 }),
    field('country', { rank: 9 }),
    field('region'),
    field('user_agent'),
    acceptedField(3),
    field('preferences', { rank: 8, parts: preferenceParts }),
    field('policy_version', { title: 'policy', rank: 6 }),
    field('created_at', {
      text: row => minute(row.created_at),
      brief: row => day(row.created_at),
      whole: true,
      rank: 4,
    }),
    field('updated_at'),
    field('deleted_at', { tone: row => toneOf(row.deleted_at ? 'deleted' : '') }),
    field('given_at', { onRequest: true }),
    field('origin', { onRequest: true, parts: originParts }),
    field('gpc', { onRequest: true }),
    field('word', { onRequest: true }),
  ],
}

export const consentViewWithDeleted: View<ConsentRow> = {
  ...consentView,
  columns: consentView.columns.map(column =>
    column.name === 'deleted_at' ? { ...column, text: row => minute(row.deleted_at), whole: true, rank: 2.5 } : column,
  ),
}

/** The importer's time is that of the imported answer, not of a change here. */
function isChanged({ created_at, updated_at }: ConsentRow): boolean {
  return Boolean(updated_at) && updated_at !== created_at
}

const importColumns: Readonly<Record<string, Column<ConsentRow>>> = {
  given_at: field('given_at', {
    text: row => (isChanged(row) ? `changed ${day(row.updated_at)}` : minute(row.given_at)),
    brief: row => (isChanged(row) ? `changed ${day(row.updated_at)}` : day(row.given_at)),
    whole: true,
    rank: 2.4,
  }),
  accepted: acceptedField(2.2),
  origin: field('origin', { text: row => row.origin?.system ?? '', parts: originParts, rank: 2.6 }),
}

/** Fits 80 columns. */
export const consentViewOfImports: View<ConsentRow> = {
  ...consentView,
  columns: consentView.columns.map(column => importColumns[column.name] ?? column),
}

export const consentViewWithExpiry: View<ConsentRow> = {
  ...consentView,
  columns: [
    ...consentView.columns,
    field('expires_at', { text: row => minute(row.expires_at), whole: true, rank: 2.5 }),
  ],
}

export const countView: View<{ readonly count: number }> = {
  id: row => String(row.count),
  columns: [field('count', { whole: true, rank: 1 })],
}

export interface EventText {
  readonly action: string
  readonly changes: string
  /** The acceptance alone if the purposes are not known. */
  readonly consent: string
}

/**
 * In the order of the entries. A purge removed the preferences, so that of a purged record only the actions are known.
 * Without the acceptance, which some instances do not return, nothing is said of purposes.
 */
export function describeEvents(entries: readonly AuditEntry[]): EventText[] {
  const isPurged = entries.some(({ action }) => action === 'purged')
  const isAccepted = entries.every(({ accepted }) => accepted !== null)
  const { events } = consentOf(isPurged || !isAccepted ? [] : entries)
  return entries.map((entry, index) => {
    const purposes = events[index]?.changed ?? []
    const changes = isPurged ? 'purged' : eventChanges(entry, entries[index - 1], purposes).join(', ')
    const state = events[index]?.state
    return {
      action: eventAction(entry, purposes),
      changes,
      consent: state ? consentWords[state] : yesNo(entry.accepted),
    }
  })
}

type TextOf = (entry: AuditEntry) => EventText | undefined

const auditColumns = (textOf: TextOf, manyRecords: boolean): readonly Column<AuditEntry>[] => [
  field('id'),
  field('consent_id', { whole: true, ...(manyRecords && { rank: 0 }) }),
  stateField('action', { text: row => textOf(row)?.action ?? row.action ?? '', whole: false, rank: 2 }),
  acceptedField(3, row => textOf(row)?.consent ?? ''),
  field('preferences', { rank: 4, parts: preferenceParts, text: (row: AuditEntry) => textOf(row)?.changes ?? '' }),
  field('policy_version', { title: 'policy', rank: 6 }),
  field('changed_by', { rank: 5 }),
  field('actor_id'),
  field('created_at', { text: row => second(row.created_at), whole: true, rank: 1 }),
  field('version'),
  field('salt'),
  field('record_hash'),
  field('payload_hash'),
  field('hash'),
  field('given_at', { text: row => second(row.given_at ?? ''), rank: 1.5, onRequest: true }),
  field('file_sha256', { onRequest: true }),
  field('gpc', { text: row => yesNo(row.gpc), rank: 7, onRequest: true }),
  field('circumstances', {
    text: row =>
      describeCircumstances(row.circumstances)
        .map(words => words.join(' '))
        .join(', '),
    parts: { prefix: 'circumstances.', of: row => row.circumstances, isSpread: true },
    rank: 8,
    onRequest: true,
  }),
  field('sealed', {
    text: ({ sealed }) => (sealed ? `until ${second(sealed.until)}: ${sealed.basis}` : ''),
    rank: 9,
    onRequest: true,
  }),
]

export function auditView(textOf: TextOf = () => undefined, manyRecords = false): View<AuditEntry> {
  return { id: row => row.id, columns: auditColumns(textOf, manyRecords) }
}

export interface LineResult {
  readonly line: number
  /** `unknown`: the response was lost. `unchanged`: it had the requested values. */
  readonly result: 'created' | 'updated' | 'deleted' | 'imported' | 'unchanged' | 'failed' | 'unknown'
  readonly id: string | null
  readonly error_code: string | null
  readonly message: string | null
}

export const lineView: View<LineResult> = {
  id: row => row.id ?? '',
  columns: [
    field('line', { rank: 1 }),
    stateField('result', { minWidth: 'unchanged'.length, rank: 2 }),
    field('id', { whole: true, rank: 3 }),
    field('error_code', { rank: 4 }),
    field('message', { rank: 5, onRequest: true }),
  ],
}
