/** The rules of a check, once more, over a history in memory. Instants are milliseconds since 1970. */

export interface PublishedNotice {
  readonly site: string
  readonly version: number
  readonly publishedAt: number
  readonly effectiveFrom: number | null
  readonly requiresRenewal: boolean
  readonly purposes: readonly string[]
  readonly validity: { readonly months: number; readonly days: number } | null
}

export interface State {
  /** When it was made here, or given as reported by the importer. */
  readonly at: number
  readonly accepted: boolean
  readonly preferences: Readonly<Record<string, unknown>>
  readonly isLive: boolean
  /** True if it was created, imported or updated then; false if deleted or restored. */
  readonly isStatement: boolean
  readonly isImported: boolean
  /** The policy version that it is about. */
  readonly version: number
}

export interface RecordOf {
  readonly id: string
  readonly site: string
  readonly subject: string
  readonly held: PublishedNotice | null
  /** In their order. */
  readonly states: State[]
}

export interface World {
  /** Oldest first. */
  readonly records: RecordOf[]
  readonly notices: PublishedNotice[]
}

export interface Asked {
  readonly subject: string
  readonly purpose: string
  readonly site: string | undefined
  readonly at: number
  readonly onlyWitnessed: boolean
}

const nothing = { id: null, notice: null, ends: null, renewal: null, given: null, stated: null, witnessed: null }

/** True if it was made here, or changed here, in what is asked, from what was imported last. */
function isWitnessed(states: readonly State[], purpose: string | null): boolean {
  const statements = states.filter(({ isStatement }) => isStatement)
  const imported = statements.findLast(({ isImported }) => isImported)
  return statements.some(
    one => !(one.isImported || (imported && answerOf(one, purpose) === answerOf(imported, purpose))),
  )
}

/** `purpose`: null for all of it. */
const answerOf = (state: State | undefined, purpose: string | null) =>
  JSON.stringify([state?.accepted, { is: purpose === null ? state?.preferences : state?.preferences[purpose] }])

/** The newest answers of the sites, newest last. */
function newestAnswers(
  records: readonly RecordOf[],
  until: (record: RecordOf) => readonly State[],
  purpose: string | null,
) {
  const placed = records.map((record, index) => {
    const witnessed = isWitnessed(until(record), purpose)
    const counted = until(record).filter(({ isStatement, isImported }) => isStatement && isImported !== witnessed)
    const isOther = (state: State) => answerOf(state, purpose) !== answerOf(counted.at(-1), purpose)
    const place = witnessed ? counted[counted.findLastIndex(isOther) + 1] : counted.at(-1)
    return { record, index, witnessed, place: place?.at ?? 0 }
  })
  type Placed = (typeof placed)[number]
  const byTime = (one: Placed, other: Placed) => one.place - other.place || one.index - other.index
  const ofSite = (site: string) => {
    const ofIt = placed.filter(({ record }) => record.site === site)
    const newest = (isMade: boolean) =>
      ofIt
        .filter(({ witnessed }) => witnessed === isMade)
        .toSorted(byTime)
        .at(-1)
    const [told, made] = [newest(false), newest(true)]
    return told && (!made || told.place > made.place) ? [told] : made ? [made] : []
  }
  return [...new Set(records.map(({ site }) => site))].flatMap(ofSite).sort(byTime)
}

/** For each purpose of a record whose newest answer on its site is in another live record: that record, and when it was given. */
export function newerAnswers({ records }: World, record: RecordOf, purposes: readonly string[]) {
  const { site, subject } = record
  const live = records.filter(one => one.site === site && one.subject === subject && one.states.at(-1)?.isLive)
  return (purposes.length > 0 ? purposes : [null]).flatMap(purpose => {
    const [newest] = newestAnswers(live, one => one.states, purpose)
    return newest && newest.record !== record ? [{ purpose, newest: newest.record, at: newest.place }] : []
  })
}

export function expectedAnswer({ records, notices }: World, { subject, purpose, site, at, onlyWitnessed }: Asked) {
  const until = (record: RecordOf) => record.states.filter(state => state.at <= at)
  const live = records.filter(one => one.subject === subject && until(one).at(-1)?.isLive)
  const counted = live.filter(one => !onlyWitnessed || isWitnessed(until(one), purpose))
  const asked = newestAnswers(counted, until, purpose).filter(
    ({ record }) => site === undefined || record.site === site,
  )
  const names = ({ record }: (typeof asked)[number]) => Object.hasOwn(until(record).at(-1)?.preferences ?? {}, purpose)
  const { record: chosen, witnessed } = asked.findLast(names) ?? asked.at(-1) ?? {}
  const states = chosen ? until(chosen) : []
  const present = states.at(-1)
  if (!chosen || !present) return { reason: 'no_record', allowed: null, ...nothing }
  const gives = (state: State) => state.accepted && state.preferences[purpose] === true
  const { held } = chosen
  const stated = states.findLast(state => state.isStatement && (witnessed || state.isImported))?.at ?? 0
  const ends = held?.validity && present.accepted ? after(stated, held.validity) : null
  const renewing = notices
    .filter(one => one.site === chosen.site && one.version > present.version && one.requiresRenewal)
    .filter(one => one.publishedAt <= at && (one.effectiveFrom ?? at) <= at)
    .map(one => one.version)
  const renewal = renewing.length > 0 ? Math.max(...renewing) : null
  const isAnswered = states.some(({ preferences }) => typeof preferences[purpose] === 'boolean')
  const refusal = () => (!present.accepted || isAnswered ? 'refused' : 'purpose_not_answered')
  const lack = () => (states.some(gives) ? 'withdrawn' : refusal())
  const isUnnamed = held !== null && held.purposes.length > 0 && !held.purposes.includes(purpose)
  const bar = [
    isUnnamed && 'purpose_not_in_notice',
    ends !== null && ends <= at && 'expired',
    renewal && 'renewal_required',
  ]
  const reason = gives(present) ? bar.find(Boolean) || 'consented' : lack()
  const allowed = reason === 'consented' ? true : reason === 'purpose_not_answered' ? null : false
  const given = states.findLast(({ isImported }) => isImported)?.at ?? null
  return {
    reason,
    allowed,
    id: chosen.id,
    notice: held?.version ?? 'not held',
    ends,
    renewal,
    given,
    stated,
    witnessed,
  }
}

/** Calendar months, as far as the month has the day, and then days. */
export function after(at: number, { months, days }: { readonly months: number; readonly days: number }): number {
  const date = new Date(at)
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth() + months]
  const lastDay = new Date(Date.UTC(year, month + 1, 0)).getUTCDate()
  return Date.UTC(year, month, Math.min(date.getUTCDate(), lastDay) + days) + (at % 86_400_000)
}
