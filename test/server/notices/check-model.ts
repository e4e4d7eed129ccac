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
  /** When it was made here, or by the importer's word when an imported answer was given. */
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
  /** When it was made or imported here. */
  readonly createdAt: number
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

/** The newest answers of the sites, newest last. */
function newestAnswers(records: readonly RecordOf[], until: (record: RecordOf) => readonly State[]) {
  const placed = records.map(record => {
    const statements = until(record).filter(({ isStatement }) => isStatement)
    const witnessed = statements.some(({ isImported }) => !isImported)
    return { record, witnessed, place: witnessed ? record.createdAt : (statements.at(-1)?.at ?? 0) }
  })
  // Of one site and instant the witnessed one is later; else the ids decide, which are in the order of the records.
  placed.sort((one, other) => {
    const isSameSite = one.record.site === other.record.site
    return one.place - other.place || (isSameSite ? Number(one.witnessed) - Number(other.witnessed) : 0)
  })
  const isNewest = ({ record }: (typeof placed)[number], index: number) =>
    !placed.slice(index + 1).some(later => later.record.site === record.site)
  return placed.filter(isNewest)
}

export function expectedAnswer({ records, notices }: World, { subject, purpose, site, at, onlyWitnessed }: Asked) {
  const until = (record: RecordOf) => record.states.filter(state => state.at <= at)
  const live = records.filter(one => one.subject === subject && until(one).at(-1)?.isLive)
  const counted = live.filter(one => !onlyWitnessed || until(one).some(one => one.isStatement && !one.isImported))
  const asked = newestAnswers(counted, until).filter(({ record }) => site === undefined || record.site === site)
  const names = ({ record }: (typeof asked)[number]) => Object.hasOwn(until(record).at(-1)?.preferences ?? {}, purpose)
  const { record: chosen, witnessed } = asked.findLast(names) ?? asked.at(-1) ?? {}
  const states = chosen ? until(chosen) : []
  const present = states.at(-1)
  if (!chosen || !present) return { reason: 'no_record', allowed: null, ...nothing }
  const gives = (state: State) => state.accepted && state.preferences[purpose] === true
  const { held } = chosen
  const stated = states.findLast(state => state.isStatement)?.at ?? 0
  const ends = held?.validity && present.accepted ? after(stated, held.validity) : null
  const renewing = notices
    .filter(one => one.site === chosen.site && one.version > present.version && one.requiresRenewal)
    .filter(one => one.publishedAt <= at && (one.effectiveFrom ?? at) <= at)
    .map(one => one.version)
  const renewal = renewing.length > 0 ? Math.max(...renewing) : null
  const refusal = () =>
    !present.accepted || present.preferences[purpose] === false ? 'refused' : 'purpose_not_answered'
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
