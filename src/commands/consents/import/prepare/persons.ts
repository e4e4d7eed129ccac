import { Preferences } from '../../../../contract/json.ts'
import type { ImportMap } from './map.ts'
import { type AnswerEvent, type Details, type Event, isRefused, type Position, type Problem } from './partitions.ts'
import type { Reason } from './prepared.ts'
import { fieldPreference } from './purposes.ts'

/** A row of the prepared file, or the reason for a rejection. */
export interface Person {
  readonly originId: string
  readonly first: Position
  /** At most 1,000 further rows of the person. */
  readonly others: readonly Position[]
  /** JSON of an `ImportRow` without its site; null if rejected or without an answer. */
  readonly row: string | null
  readonly problem: Problem | null
  /** Without those left out. */
  readonly events: number
  readonly answers: number
  readonly merged: number
  readonly duplicates: number
  readonly hasSubject: boolean
  /** Unix time, ms. */
  readonly firstAt: number
  readonly lastAt: number
}

interface Answer extends Omit<AnswerEvent, 'purposes' | 'circumstances'> {
  readonly purposes: Map<string, boolean | null>
  circumstances?: AnswerEvent['circumstances']
  isSilent: boolean
}

interface State {
  readonly at: number
  readonly version: number
  readonly sha256: string
  readonly accepted: boolean
  readonly preferences: Readonly<Record<string, boolean>>
  readonly circumstances: AnswerEvent['circumstances']
}

/** Characters that fit a request of 1 MiB. */
const maxRowLength = 1_000_000

const maxOthers = 1000

interface PersonOptions {
  readonly map: ImportMap
  readonly sha256Of: (part: number) => string
}

/** Merges sorted events into persons, in the memory of a row. */
export function openPersons(options: PersonOptions) {
  const rules: Rules = { ...options, isWhole: options.map.rows === 'answer', toState: stateMaker(options.map) }
  let person: OpenPerson | null = null
  return {
    /** Returns the previous person once it is complete. */
    add: (event: Event): Person | null => {
      const done = person && person.originId !== event.originId ? finish(person, rules) : null
      if (done || !person) person = openPerson(event)
      addEvent(person, event, rules)
      return done
    },
    end: (): Person | null => person && finish(person, rules),
  }
}

interface Rules extends PersonOptions {
  readonly isWhole: boolean
  readonly toState: ReturnType<typeof stateMaker>
}

interface OpenPerson {
  readonly originId: string
  first: Position
  readonly others: Position[]
  problem: Problem | null
  subject: string | undefined
  events: number
  answers: number
  merged: number
  duplicates: number
  /** The latest answer, to which further rows may belong. */
  answer: Answer | null
  /** State after the answers before it. */
  purposes: ReadonlyMap<string, boolean | null>
  start: { readonly state: State; readonly details: Details } | null
  last: State | null
  /** JSON of the states after the first. */
  readonly changes: string[]
  length: number
}

function openPerson({ originId, part, line }: Event): OpenPerson {
  const counts = { events: 0, answers: 0, merged: 0, duplicates: 0 }
  const history = { answer: null, purposes: new Map(), start: null, last: null, changes: [], length: 0 }
  return { originId, first: { part, line }, others: [], problem: null, subject: undefined, ...counts, ...history }
}

function addEvent(person: OpenPerson, event: Event, rules: Rules): void {
  if (isRefused(event)) {
    countEvent(person, event)
    person.problem ??= event.problem
    return
  }
  const isSilent = event.silence !== null
  if (!isSilent) countEvent(person, event)
  if (person.problem) return
  requireSubject(person, event.details)
  const { answer } = person
  if (answer?.at === event.at) {
    combine(person, answer, event, rules)
    return
  }
  if (answer) addAnswer(person, answer, rules)
  person.answer = { ...event, purposes: new Map(event.purposes), isSilent }
  if (!isSilent) person.answers += 1
}

function countEvent(person: OpenPerson, { part, line }: Event): void {
  person.events += 1
  if (person.events === 1) person.first = { part, line }
  else if (person.others.length < maxOthers) person.others.push({ part, line })
}

function refuse(person: OpenPerson, reason: Reason, message: string): void {
  person.problem ??= { reason, message }
}

function requireSubject(person: OpenPerson, { subject_id: given }: Details): void {
  const { subject } = person
  if (subject !== undefined && given !== undefined && given !== subject)
    refuse(person, 'contradiction', `it has several subjects: "${subject}" and "${given}"`)
  person.subject ??= given
}

function combine(person: OpenPerson, before: Answer, event: AnswerEvent, { isWhole }: Rules): void {
  const { at, purposes, silence } = event
  const clash = clashOf(before, event, isWhole)
  if (clash !== null) {
    refuse(person, 'contradiction', `at ${isoOf(at)} it has different ${clash}`)
    return
  }
  const isNew = purposes.length === 0 ? !isWhole : purposes.some(([name]) => !before.purposes.has(name))
  for (const [name, given] of purposes) before.purposes.set(name, given)
  if (silence) return
  before.circumstances = (before.isSilent ? undefined : before.circumstances) ?? event.circumstances
  if (before.isSilent) person.answers += 1
  else if (isNew) person.merged += 1
  else person.duplicates += 1
  before.isSilent = false
}

function finish(person: OpenPerson, { map, ...rules }: Rules): Person {
  if (person.answer && !person.problem) addAnswer(person, person.answer, { map, ...rules })
  const problem = person.events > 0 ? person.problem : null // otherwise every row is left out
  return {
    ...person,
    row: problem ? null : rowOf(person, map.system),
    problem,
    hasSubject: person.subject !== undefined,
    firstAt: person.start?.state.at ?? 0,
    lastAt: person.last?.at ?? 0,
  }
}

const labelOf = (purpose: string) => fieldPreference(purpose) ?? purpose

/** Returns null if nothing contradicts. Rows of complete answers must be identical. */
function clashOf(before: Answer, event: AnswerEvent, isWhole: boolean): string | null {
  const { version, accepted, purposes, circumstances } = event
  if (before.accepted !== accepted) return 'answers'
  const areComparable = isWhole || (before.circumstances && circumstances)
  if (areComparable && JSON.stringify(before.circumstances) !== JSON.stringify(circumstances)) return 'circumstances'
  if (before.version !== version) return 'policy versions'
  for (const [name, given] of purposes) {
    const known = before.purposes.get(name)
    if (known !== undefined && known !== given) return `answers to "${labelOf(name)}"`
    if (known === undefined && isWhole) return `purposes: "${labelOf(name)}"`
  }
  return isWhole && before.purposes.size !== purposes.length ? 'purposes' : null
}

function addAnswer(person: OpenPerson, answer: Answer, { map, sha256Of, toState }: Rules): void {
  person.purposes = map.rows === 'change' ? merge(person.purposes, answer.purposes) : answer.purposes
  if (answer.isSilent) return
  const state = toState(answer, person.purposes, sha256Of(answer.part))
  const issue = Preferences.safeParse(state.preferences).error?.issues[0]
  if (issue) {
    refuse(person, 'too_large', `its preferences ${issue.message}`)
    return
  }
  if (person.last) {
    const text = JSON.stringify(changeOf(state, person.last))
    person.length += text.length + 1
    person.changes.push(text)
  } else person.start = { state, details: answer.details }
  person.last = state
  if (person.length > maxRowLength)
    refuse(person, 'too_large', `its ${person.changes.length} changes do not fit into a record`)
}

function rowOf({ start, changes, originId: id, subject }: OpenPerson, system: string): string | null {
  if (!start) return null
  const { details, state } = start
  const { at, sha256, version, accepted, preferences } = state
  // Not spread, because objects of one shape take a fraction of the memory.
  const text = JSON.stringify({
    consent_id: details.consent_id,
    subject_id: subject,
    ip_address: details.ip_address,
    user_agent: details.user_agent,
    notice_locale: details.notice_locale,
    policy_version: version,
    origin: { system, id, evidence: details.evidence },
    file_sha256: sha256,
    given_at: isoOf(at),
    accepted,
    preferences,
    circumstances: state.circumstances,
  })
  return changes.length === 0 ? text : `${text.slice(0, -1)},"changes":[${changes.join(',')}]}`
}

function isoOf(at: number): string {
  return new Date(at).toISOString()
}

/** A purpose without an answer keeps its earlier one. */
function merge(before: ReadonlyMap<string, boolean | null>, now: Answer['purposes']): Map<string, boolean | null> {
  const merged = new Map(before)
  for (const [name, given] of now) if (given !== null || !merged.has(name)) merged.set(name, given)
  return merged
}

function changeOf({ at, version, sha256, accepted, preferences, circumstances }: State, before: State) {
  return {
    given_at: isoOf(at),
    accepted,
    preferences,
    circumstances,
    policy_version: version === before.version ? undefined : version,
    file_sha256: sha256 === before.sha256 ? undefined : sha256,
  }
}

/** A preference with several purposes: no if any is no, yes if all are yes, else omitted. */
function stateMaker({ names, accepted: acceptance }: ImportMap) {
  const nameOf = new Map(Object.entries(names))
  const except = new Set(acceptance?.except)
  const derive = (kept: ReadonlyMap<string, boolean | null>): boolean => {
    const counted = [...kept].flatMap(([name, given]) => (except.has(name) ? [] : [given === true]))
    return acceptance?.rule !== 'all' ? counted.includes(true) : counted.length > 0 && !counted.includes(false)
  }
  return (answer: Answer, purposes: ReadonlyMap<string, boolean | null>, sha256: string): State => {
    const { at, version, accepted, circumstances } = answer
    const kept = new Map<string, boolean | null>()
    for (const [source, given] of purposes) {
      const name = fieldPreference(source) ?? (nameOf.get(source) || source)
      const before = kept.get(name)
      kept.set(name, before === undefined ? given : strictest(before, given))
    }
    const answered = [...kept].filter((entry): entry is [string, boolean] => entry[1] !== null)
    const preferences = Object.fromEntries(answered.sort(([a], [b]) => (a < b ? -1 : 1)))
    return { at, version, sha256, accepted: accepted ?? derive(kept), preferences, circumstances }
  }
}

function strictest(a: boolean | null, b: boolean | null): boolean | null {
  if (a === false || b === false) return false
  return a === null || b === null ? null : true
}
