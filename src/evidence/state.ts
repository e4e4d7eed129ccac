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

/**
 * The answer after a withdrawal of these purposes. Only purposes that are given are withdrawn: acceptance alone gives
 * none. Without a purpose that is true it is not accepted any more, so the state of the whole becomes `withdrawn`, also if
 * a notice names purposes that were never answered.
 */
export function turnOff(
  { accepted, preferences }: { readonly accepted: boolean; readonly preferences: Readonly<Record<string, unknown>> },
  purposes: readonly string[],
) {
  const withdrawn = purposes.filter(purpose => {
    const answer = Object.hasOwn(preferences, purpose) ? preferences[purpose] : undefined
    return purposeState({ accepted, answer, wasGiven: false, wasAnswered: false }) === 'given'
  })
  if (withdrawn.length === 0) return { withdrawn, accepted, preferences }
  const left = { ...preferences, ...Object.fromEntries(withdrawn.map(purpose => [purpose, false])) }
  return { withdrawn, accepted: Object.values(left).includes(true), preferences: left }
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
  const purposes = new Purposes(named)
  let wasGiven = false
  const events = answers.map((answer, index) => {
    const changed = purposes.answer(answer, index)
    const state = wholeState({ accepted: answer.accepted, counts: purposes.counts, wasGiven })
    wasGiven ||= state === 'given' || state === 'partly'
    return { state, changed }
  })
  return { events, purposes: purposes.list() }
}

/** The purposes of a record after its events so far. An event costs as many steps as it and the one before name purposes. */
class Purposes {
  readonly #named: ReadonlySet<string>
  readonly #all = new Map<string, Purpose>()
  readonly #given = new Set<string>()
  readonly #unanswered: Set<string>
  /** Of the purposes that the state of the whole goes by. */
  readonly counts: Record<PurposeState, number>

  constructor(named: Iterable<string>) {
    this.#named = new Set(named)
    this.#unanswered = new Set(this.#named)
    this.counts = { given: 0, refused: 0, withdrawn: 0, not_answered: this.#named.size }
    for (const purpose of this.#named) this.#all.set(purpose, { purpose, state: 'not_answered', since: null })
  }

  /** Returns the purposes that the event changed. Those neither answered, given nor unanswered stay as they are. */
  answer({ accepted, preferences }: Answer, index: number): Purpose[] {
    const values = preferences ?? {}
    const answered = Object.keys(values).filter(purpose => typeof values[purpose] === 'boolean')
    return [...new Set([...this.#unanswered, ...this.#given, ...answered])].flatMap(purpose => {
      const answer = Object.hasOwn(values, purpose) ? values[purpose] : undefined
      const before = this.#all.get(purpose)
      const state = purposeState({
        ...{ accepted, answer },
        wasGiven: before?.state === 'given' || before?.state === 'withdrawn',
        wasAnswered: before !== undefined && !this.#unanswered.has(purpose),
      })
      if (typeof answer === 'boolean') this.#unanswered.delete(purpose)
      return before?.state === state ? [] : [this.#change(before, { purpose, state, since: index })]
    })
  }

  #change(before: Purpose | undefined, { purpose, state, since }: Purpose): Purpose {
    this.#given[state === 'given' ? 'add' : 'delete'](purpose)
    if (this.#named.size === 0 || this.#named.has(purpose)) {
      if (before) this.counts[before.state] -= 1
      this.counts[state] += 1
    }
    const after = { purpose, state, since: state === 'not_answered' ? null : since }
    this.#all.set(purpose, after)
    return after
  }

  list(): Purpose[] {
    return [...this.#all.values()].sort((one, other) => (one.purpose < other.purpose ? -1 : 1))
  }
}

interface Whole {
  readonly accepted: boolean | null
  readonly counts: Readonly<Record<PurposeState, number>>
  readonly wasGiven: boolean
}

function wholeState({ accepted, counts, wasGiven }: Whole): ConsentState {
  if (accepted && counts.refused + counts.withdrawn === 0) return 'given'
  if (counts.given > 0) return 'partly'
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
