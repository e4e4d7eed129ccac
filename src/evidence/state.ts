import type { purposeStates } from '../contract/documents/consent-receipt.ts'

/** `partly`: for some of the purposes. */
export type ConsentState = 'given' | 'partly' | 'withdrawn' | 'refused'

export type PurposeState = (typeof purposeStates)[number]

export function purposeWords(state: PurposeState): string {
  return state.replace('_', ' ')
}

interface Answer {
  readonly accepted: boolean | null
  readonly preferences: Readonly<Record<string, unknown>> | null
}

interface AnswerToPurpose {
  readonly accepted: boolean | null
  /** What the preferences have for it. */
  readonly answer: unknown
  /** After an earlier answer of the record, it was given. */
  readonly wasGiven: boolean
  /** An earlier answer of the record had `true` or `false` for it. */
  readonly wasAnswered: boolean
}

/** A purpose that was answered and not given is refused until it is given, also if later preferences omit it. */
export function purposeState({ accepted, answer, wasGiven, wasAnswered }: AnswerToPurpose): PurposeState {
  if (accepted && answer === true) return 'given'
  if (wasGiven) return 'withdrawn'
  return accepted && typeof answer !== 'boolean' && !wasAnswered ? 'not_answered' : 'refused'
}

export interface Purpose {
  readonly purpose: string
  readonly state: PurposeState
  /** Index of the event since which it is in this state; null if it was not answered. */
  readonly since: number | null
}

export interface Consent {
  /** After each event, oldest first, with the purposes whose state it changed. */
  readonly events: readonly { readonly state: ConsentState; readonly changed: readonly Purpose[] }[]
  /** After the last event, by name: the purposes of the notice, and names that were true or false in any preferences. */
  readonly purposes: readonly Purpose[]
}

/**
 * The consent of a record, by its purposes: acceptance is no consent to a purpose that is not true. If its notice names
 * purposes (`named`), the state of the whole goes by these alone: a banner may report others, such as `necessary`.
 */
export function consentOf(answers: readonly Answer[], named: Iterable<string> = []): Consent {
  const optional = new Set(named)
  const purposes = new Map<string, Purpose>()
  for (const purpose of optional) purposes.set(purpose, { purpose, state: 'not_answered', since: null })
  const given = new Set<string>()
  const wasAnswered = new Set<string>()
  let wasGiven = false
  const events = answers.map(({ accepted, preferences }, index) => {
    const values = preferences ?? {}
    const answered = Object.keys(values).filter(purpose => typeof values[purpose] === 'boolean')
    const changed = [...new Set([...purposes.keys(), ...answered])].flatMap(purpose => {
      const answer = Object.hasOwn(values, purpose) ? values[purpose] : undefined
      const state = purposeState({
        ...{ accepted, answer },
        wasGiven: given.has(purpose),
        wasAnswered: wasAnswered.has(purpose),
      })
      if (state === 'given') given.add(purpose)
      if (typeof answer === 'boolean') wasAnswered.add(purpose)
      const before = purposes.get(purpose)
      if (before?.state === state) return []
      const after = { purpose, state, since: state === 'not_answered' ? null : index }
      purposes.set(purpose, after)
      return [after]
    })
    const counted = [...purposes.values()].filter(({ purpose }) => optional.size === 0 || optional.has(purpose))
    const state = wholeState({ accepted, states: counted.map(one => one.state), wasGiven })
    wasGiven ||= state === 'given' || state === 'partly'
    return { state, changed }
  })
  return { events, purposes: [...purposes.values()].sort((one, other) => (one.purpose < other.purpose ? -1 : 1)) }
}

interface Whole {
  readonly accepted: boolean | null
  readonly states: readonly PurposeState[]
  readonly wasGiven: boolean
}

function wholeState({ accepted, states, wasGiven }: Whole): ConsentState {
  const hasNo = states.some(state => state === 'refused' || state === 'withdrawn')
  if (accepted && !hasNo) return 'given'
  if (states.includes('given')) return 'partly'
  return wasGiven ? 'withdrawn' : 'refused'
}

/** The purposes as documents and pages state them. `times`: of the events, by index. */
export function datePurposes(purposes: readonly Purpose[], times: readonly string[]) {
  return purposes.map(({ purpose, state, since }) => ({
    purpose,
    state,
    since: since === null ? null : (times[since] ?? null),
  }))
}

/** Without a history, `withdrawn` and `refused` are the same. */
export function currentState(record: Answer): ConsentState {
  return consentOf([record]).events[0]?.state ?? 'refused'
}
