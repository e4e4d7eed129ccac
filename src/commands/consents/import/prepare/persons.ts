import { Preferences } from '../../../../contract/json.ts'
import type { Details, Event } from './event.ts'
import type { ImportMap } from './map.ts'
import type { Reason } from './prepared.ts'

/** The outcome of all events of one person: a row of the prepared file, or why it is refused. */
export interface Person {
  readonly originId: string
  readonly first: { readonly part: number; readonly line: number }
  /** JSON of an `ImportRow` without its site; null if it is refused or has no answer. */
  readonly row: string | null
  readonly problem: { readonly reason: Reason; readonly message: string } | null
  /** Events that do not count as left out. */
  readonly events: number
  /** First and later ones. */
  readonly answers: number
  readonly merged: number
  readonly duplicates: number
  /** Of its answers, ms since 1970. */
  readonly firstAt: number
  readonly lastAt: number
}

interface Answer {
  readonly at: number
  readonly version: number
  readonly part: number
  readonly accepted: boolean | null
  /** By the source's names. */
  readonly purposes: Map<string, boolean | null>
  readonly details: Details
  /** Until an event is not silent. */
  isSilent: boolean
}

interface State {
  readonly at: number
  readonly version: number
  readonly sha256: string
  readonly accepted: boolean
  readonly preferences: Readonly<Record<string, boolean>>
}

/** Characters of a row, so that it fits into a request of 1 MiB. */
const maxRowLength = 1_000_000

interface PersonOptions {
  readonly map: ImportMap
  /** The digest, in hexadecimal, of the file that a part is of. */
  readonly sha256Of: (part: number) => string
}

/** Merges events, sorted by person and time, into persons. Memory is bounded by the size of a row. */
export function openPersons(options: PersonOptions) {
  let person: ReturnType<typeof openPerson> | null = null
  return {
    /** Returns the person before, once it is complete. */
    add: (event: Event): Person | null => {
      if (person?.originId === event[0]) {
        person.add(event)
        return null
      }
      const done = person?.finish() ?? null
      person = openPerson(event, options)
      person.add(event)
      return done
    },
    end: (): Person | null => person?.finish() ?? null,
  }
}

function openPerson(firstEvent: Event, { map, sha256Of }: PersonOptions) {
  const [originId, , , part, line] = firstEvent
  const history = openHistory(map, sha256Of)
  let problem: Person['problem'] = null
  let answer: Answer | null = null
  let subject: string | undefined
  let [events, answers, merged, duplicates] = [0, 0, 0, 0]
  const refuse = (reason: Reason, message: string) => {
    problem ??= { reason, message }
  }
  const requireSubject = ({ subject_id: given }: Details) => {
    if (subject !== undefined && given !== undefined && given !== subject)
      refuse('contradiction', `it has several subjects: "${subject}" and "${given}"`)
    subject ??= given
  }
  const combine = (before: Answer, event: Event) => {
    const [, at, , , , version, accepted, purposes, , isSilent] = event
    const clash = clashOf(before, version, accepted, purposes, map.rows === 'answer')
    if (clash !== null) return refuse('contradiction', `at ${new Date(at).toISOString()} it has different ${clash}`)
    const names = Object.keys(purposes)
    const isNew = names.length === 0 ? map.rows !== 'answer' : names.some(name => !before.purposes.has(name))
    for (const [name, given] of Object.entries(purposes)) before.purposes.set(name, given)
    if (isSilent) return
    if (before.isSilent) answers += 1
    else if (isNew) merged += 1
    else duplicates += 1
    before.isSilent = false
  }
  const begin = (event: Event) => {
    if (answer) closeAnswer(answer)
    const [, at, , part, , version, accepted, purposes, details, isSilent] = event
    answer = { at, version, part, accepted, purposes: new Map(Object.entries(purposes)), details, isSilent }
    if (!isSilent) answers += 1
  }
  const closeAnswer = (closed: Answer) => {
    const failed = history.add(closed)
    if (failed !== null) refuse('too_large', failed)
  }
  return {
    originId,
    add: (event: Event): void => {
      if (!event[9]) events += 1
      if (problem) return
      requireSubject(event[8])
      if (answer && answer.at === event[1]) combine(answer, event)
      else begin(event)
    },
    finish: (): Person => {
      if (answer && !problem) closeAnswer(answer)
      const row = problem ? null : history.row(map.system, originId, subject)
      const { firstAt, lastAt } = history
      const counts = { events, answers, merged, duplicates }
      return { originId, first: { part, line }, row, problem, ...counts, firstAt: firstAt(), lastAt: lastAt() }
    },
  }
}

/** Returns what contradicts, or null. A whole answer must be the same. */
function clashOf(
  before: Answer,
  version: number,
  accepted: boolean | null,
  purposes: Event[7],
  isWhole: boolean,
): string | null {
  if (before.accepted !== accepted) return 'answers'
  if (before.version !== version) return 'policy versions'
  for (const [name, given] of Object.entries(purposes)) {
    const known = before.purposes.get(name)
    if (known !== undefined && known !== given) return `answers to "${name}"`
    if (known === undefined && isWhole) return `purposes: "${name}"`
  }
  return isWhole && before.purposes.size !== Object.keys(purposes).length ? 'purposes' : null
}

/** The answers of a person, as JSON, each with the whole state after it. */
function openHistory(map: ImportMap, sha256Of: PersonOptions['sha256Of']) {
  const toState = stateMaker(map)
  let purposes = new Map<string, boolean | null>()
  let first: { readonly state: State; readonly details: Details } | null = null
  let last: State | null = null
  const changes: string[] = []
  let length = 0
  return {
    /** Returns why a record cannot hold it, or null. */
    add: (answer: Answer): string | null => {
      purposes = map.rows === 'change' ? merge(purposes, answer.purposes) : answer.purposes
      if (answer.isSilent) return null
      const state = toState(answer, purposes, sha256Of(answer.part))
      const issue = Preferences.safeParse(state.preferences).error?.issues[0]
      if (issue) return `its preferences ${issue.message}`
      if (first && last) {
        const text = JSON.stringify(changeOf(state, last))
        length += text.length + 1
        changes.push(text)
      } else first = { state, details: answer.details }
      last = state
      return length > maxRowLength ? `its ${changes.length} changes do not fit into a record` : null
    },
    row: (system: string, id: string, subject: string | undefined): string | null => {
      if (!first) return null
      const { details, state } = first
      const { evidence, ...others } = details
      const { at, sha256, version, accepted, preferences } = state
      const origin = { system, id, evidence }
      const given = { policy_version: version, origin, file_sha256: sha256, given_at: isoOf(at), accepted, preferences }
      const text = JSON.stringify({ ...others, subject_id: subject, ...given })
      return changes.length === 0 ? text : `${text.slice(0, -1)},"changes":[${changes.join(',')}]}`
    },
    firstAt: () => first?.state.at ?? 0,
    lastAt: () => last?.at ?? 0,
  }
}

function isoOf(at: number): string {
  return new Date(at).toISOString()
}

/** A purpose that has no answer now keeps the one before. */
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

/** A preference of several purposes is a yes only if all of them are, and left out if some have no answer and none is a no. */
function stateMaker({ names, accepted: acceptance }: ImportMap) {
  const nameOf = new Map(Object.entries(names))
  const except = new Set(acceptance.except)
  return ({ at, version, accepted }: Answer, purposes: Answer['purposes'], sha256: string): State => {
    const kept = new Map<string, boolean | null>()
    for (const [source, given] of purposes) {
      const name = nameOf.get(source) || source
      const before = kept.get(name)
      kept.set(name, before === undefined ? given : strictest(before, given))
    }
    const answered = [...kept].filter((entry): entry is [string, boolean] => entry[1] !== null)
    const preferences = Object.fromEntries(answered.sort(([a], [b]) => (a < b ? -1 : 1)))
    const counted = [...kept].flatMap(([name, given]) => (except.has(name) ? [] : [given === true]))
    const derived = acceptance.rule === 'any' ? counted.includes(true) : counted.length > 0 && !counted.includes(false)
    return { at, version, sha256, accepted: accepted ?? derived, preferences }
  }
}

function strictest(a: boolean | null, b: boolean | null): boolean | null {
  if (a === false || b === false) return false
  return a === null || b === null ? null : true
}
