import { after, type RecordOf, type State } from './check-model.ts'

/** What a receipt says of a record's purposes, once more, by words alone. Instants are milliseconds since 1970. */
export interface ExpectedConsent {
  readonly status: string
  readonly purposes: readonly { readonly purpose: string; readonly state: string; readonly since: number | null }[]
}

/**
 * A purpose that the notice does not name is unknown until it is answered. A purpose is given while the record is accepted and has `true` for it; withdrawn if it was given once, and refused if it was not. It is
 * not answered as long as the record is accepted and no answer had true or false for it.
 */
export function stateOfPurpose(states: readonly State[], purpose: string): string {
  const present = states.at(-1)
  const gives = ({ accepted, preferences }: State) => accepted && preferences[purpose] === true
  if (!present) return 'not_answered'
  if (gives(present)) return 'given'
  if (states.some(gives)) return 'withdrawn'
  const isAnswered = states.some(({ preferences }) => typeof preferences[purpose] === 'boolean')
  return present.accepted && !isAnswered ? 'not_answered' : 'refused'
}

export function expectedConsent({ held, states }: RecordOf, ends: number | null, now: number): ExpectedConsent {
  const named = new Set(held?.purposes)
  const answered = states.flatMap(({ preferences }) =>
    Object.keys(preferences).filter(name => typeof preferences[name] === 'boolean'),
  )
  const all = [...new Set([...named, ...answered])].sort()
  const purposes = all.map(purpose => {
    const isKnown = (index: number) =>
      named.has(purpose) ||
      states.slice(0, index + 1).some(({ preferences }) => typeof preferences[purpose] === 'boolean')
    const course = states.map((_, index) =>
      isKnown(index) ? stateOfPurpose(states.slice(0, index + 1), purpose) : null,
    )
    const state = course.at(-1) ?? 'not_answered'
    const first = course.findLastIndex(other => other !== state) + 1
    return { purpose, state, since: state === 'not_answered' ? null : (states[first]?.at ?? 0) }
  })
  const present = wholeAfter(states, named, all)
  const isOver = (present === 'given' || present === 'partly') && ends !== null && ends <= now
  return { status: isOver ? 'expired' : present, purposes }
}

/** By the purposes of its notice; without one that names any, by all that were answered until then. */
function wholeAfter(states: readonly State[], named: ReadonlySet<string>, all: readonly string[]): string {
  const stateAt = (count: number) => {
    const until = states.slice(0, count)
    const isAnswered = (purpose: string) => until.some(({ preferences }) => typeof preferences[purpose] === 'boolean')
    const counted = all.filter(purpose => (named.size > 0 ? named.has(purpose) : isAnswered(purpose)))
    const are = counted.map(purpose => stateOfPurpose(until, purpose))
    const isRefused = are.includes('refused') || are.includes('withdrawn')
    if (until.at(-1)?.accepted && !isRefused) return 'given'
    return are.includes('given') ? 'partly' : null
  }
  const present = stateAt(states.length)
  if (present !== null) return present
  return states.some((_, index) => stateAt(index + 1) !== null) ? 'withdrawn' : 'refused'
}

/** Of a purpose of a record, or of the whole (null): `expired` if it was given there and has ended. */
export function stateAfter(record: RecordOf, purpose: string | null, now: number): string {
  const { held, states } = record
  const last = states.findLast(({ isStatement, isImported }) => isStatement && !isImported)
  const ends = held?.validity && last && states.at(-1)?.accepted ? after(last.at, held.validity) : null
  if (purpose === null) return expectedConsent(record, ends, now).status
  const state = stateOfPurpose(states, purpose)
  return state === 'given' && ends !== null && ends <= now ? 'expired' : state
}
