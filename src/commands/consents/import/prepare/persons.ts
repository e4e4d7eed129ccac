import { Preferences } from '../../../../contract/json.ts'
import type { ImportMap } from './map.ts'
import { type AnswerEvent, type Details, type Event, isRefused, type Problem } from './partitions.ts'
import type { Reason } from './prepared.ts'

/** A row of the prepared file, or the reason for a rejection. */
export interface Person {
  readonly originId: string
  readonly first: Position
  /** Of `events`: at most 1,000 further rows. */
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
  /** Of the first and last answer: Unix time, ms. */
  readonly firstAt: number
  readonly lastAt: number
}

interface Position {
  readonly part: number
  readonly line: number
}

interface Answer {
  readonly at: number
  readonly version: number
  readonly part: number
  readonly accepted: boolean | null
  readonly purposes: Map<string, boolean | null>
  readonly details: Details
  isSilent: boolean
}

interface State {
  readonly at: number
  readonly version: number
  readonly sha256: string
  readonly accepted: boolean
  readonly preferences: Readonly<Record<string, boolean>>
}

/** Characters that fit a request of 1 MiB. */
const maxRowLength = 1_000_000

const maxOthers = 1000
const noOthers: readonly Position[] = []

interface PersonOptions {
  readonly map: ImportMap
  readonly sha256Of: (part: number) => string
}

/** Merges sorted events into persons, in the memory of a row. */
export function openPersons(options: PersonOptions) {
  const rules: Rules = { ...options, isWhole: options.map.rows === 'answer', toState: stateMaker(options.map) }
  let person: OpenPerson | null = null
  return {
    /** Returns the previous person once complete. */
    add: (event: Event): Person | null => {
      if (person?.originId === event[0]) {
        addEvent(person, event, rules)
        return null
      }
      const done = person && finish(person, rules)
      person = openPerson(event)
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
  others: Position[] | null
  readonly history: History
  problem: Person['problem']
  answer: Answer | null
  subject: string | undefined
  events: number
  answers: number
  merged: number
  duplicates: number
}

function openPerson([originId, , , part, line]: Event): OpenPerson {
  const history: History = { purposes: noPurposes, first: null, last: null, changes: [], length: 0 }
  const counts = { events: 0, answers: 0, merged: 0, duplicates: 0 }
  const first = { part, line }
  return { originId, first, others: null, history, problem: null, answer: null, subject: undefined, ...counts }
}

const noPurposes: ReadonlyMap<string, boolean | null> = new Map()

function addEvent(person: OpenPerson, event: Event, rules: Rules): void {
  if (isRefused(event)) {
    const [, , , part, line, problem] = event
    countEvent(person, part, line)
    person.problem ??= problem
    return
  }
  const [, at, , part, line, version, accepted, purposes, details, isSilent] = event
  if (!isSilent) countEvent(person, part, line)
  if (person.problem) return
  requireSubject(person, details)
  const { answer } = person
  if (answer?.at === at) {
    combine(person, answer, event, rules)
    return
  }
  if (answer) closeAnswer(person, answer, rules)
  person.answer = { at, version, part, accepted, purposes: new Map(purposes), details, isSilent }
  if (!isSilent) person.answers += 1
}

function countEvent(person: OpenPerson, part: number, line: number): void {
  person.events += 1
  if (person.events === 1) {
    person.first = { part, line }
    return
  }
  person.others ??= []
  if (person.others.length < maxOthers) person.others.push({ part, line })
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
  const [, at, , , , version, accepted, purposes, , isSilent] = event
  const clash = clashOf(before, version, accepted, purposes, isWhole)
  if (clash !== null) {
    refuse(person, 'contradiction', `at ${isoOf(at)} it has different ${clash}`)
    return
  }
  const isNew = purposes.length === 0 ? !isWhole : purposes.some(([name]) => !before.purposes.has(name))
  for (const [name, given] of purposes) before.purposes.set(name, given)
  if (isSilent) return
  if (before.isSilent) person.answers += 1
  else if (isNew) person.merged += 1
  else person.duplicates += 1
  before.isSilent = false
}

function closeAnswer(person: OpenPerson, answer: Answer, rules: Rules): void {
  const failed = addAnswer(person.history, answer, rules)
  if (failed !== null) refuse(person, 'too_large', failed)
}

function finish(person: OpenPerson, rules: Rules): Person {
  if (person.answer && !person.problem) closeAnswer(person, person.answer, rules)
  const { originId, first, others, history, subject, events, answers, merged, duplicates } = person
  const problem = events > 0 ? person.problem : null // otherwise every row is left out
  const row = problem ? null : rowOf(history, rules.map.system, originId, subject)
  const [firstAt, lastAt] = [history.first?.state.at ?? 0, history.last?.at ?? 0]
  const counts = { events, answers, merged, duplicates }
  return {
    originId,
    first,
    others: others ?? noOthers,
    row,
    problem,
    ...counts,
    hasSubject: subject !== undefined,
    firstAt,
    lastAt,
  }
}

/** Null without a contradiction. Rows of complete answers must be identical. */
function clashOf(
  before: Answer,
  version: number,
  accepted: boolean | null,
  purposes: AnswerEvent[7],
  isWhole: boolean,
): string | null {
  if (before.accepted !== accepted) return 'answers'
  if (before.version !== version) return 'policy versions'
  for (const [name, given] of purposes) {
    const known = before.purposes.get(name)
    if (known !== undefined && known !== given) return `answers to "${name}"`
    if (known === undefined && isWhole) return `purposes: "${name}"`
  }
  return isWhole && before.purposes.size !== purposes.length ? 'purposes' : null
}

/** Each answer as JSON of the state after it. */
interface History {
  purposes: ReadonlyMap<string, boolean | null>
  first: { readonly state: State; readonly details: Details } | null
  last: State | null
  readonly changes: string[]
  length: number
}

function addAnswer(history: History, answer: Answer, { map, sha256Of, toState }: Rules): string | null {
  history.purposes = map.rows === 'change' ? merge(history.purposes, answer.purposes) : answer.purposes
  if (answer.isSilent) return null
  const state = toState(answer, history.purposes, sha256Of(answer.part))
  const issue = Preferences.safeParse(state.preferences).error?.issues[0]
  if (issue) return `its preferences ${issue.message}`
  if (history.last) {
    const text = JSON.stringify(changeOf(state, history.last))
    history.length += text.length + 1
    history.changes.push(text)
  } else history.first = { state, details: answer.details }
  history.last = state
  return history.length > maxRowLength ? `its ${history.changes.length} changes do not fit into a record` : null
}

function rowOf({ first, changes }: History, system: string, id: string, subject: string | undefined): string | null {
  if (!first) return null
  const { details, state } = first
  const { at, sha256, version, accepted, preferences } = state
  // Not spread: objects of one shape take a fraction of the memory.
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

function changeOf({ at, version, sha256, accepted, preferences }: State, before: State) {
  return {
    given_at: isoOf(at),
    accepted,
    preferences,
    policy_version: version === before.version ? undefined : version,
    file_sha256: sha256 === before.sha256 ? undefined : sha256,
  }
}

/** A preference of several purposes: no if any is no, yes if all are yes, else omitted. */
function stateMaker({ names, accepted: acceptance }: ImportMap) {
  const nameOf = new Map(Object.entries(names))
  const except = new Set(acceptance.except)
  const derive = (kept: ReadonlyMap<string, boolean | null>): boolean => {
    const counted = [...kept].flatMap(([name, given]) => (except.has(name) ? [] : [given === true]))
    return acceptance.rule === 'any' ? counted.includes(true) : counted.length > 0 && !counted.includes(false)
  }
  return ({ at, version, accepted }: Answer, purposes: ReadonlyMap<string, boolean | null>, sha256: string): State => {
    const kept = new Map<string, boolean | null>()
    for (const [source, given] of purposes) {
      const name = nameOf.get(source) || source
      const before = kept.get(name)
      kept.set(name, before === undefined ? given : strictest(before, given))
    }
    const answered = [...kept].filter((entry): entry is [string, boolean] => entry[1] !== null)
    const preferences = Object.fromEntries(answered.sort(([a], [b]) => (a < b ? -1 : 1)))
    return { at, version, sha256, accepted: accepted ?? derive(kept), preferences }
  }
}

function strictest(a: boolean | null, b: boolean | null): boolean | null {
  if (a === false || b === false) return false
  return a === null || b === null ? null : true
}
