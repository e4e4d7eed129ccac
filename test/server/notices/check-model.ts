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
  readonly at: number
  readonly accepted: boolean
  readonly preferences: Readonly<Record<string, unknown>>
  readonly isLive: boolean
  /** True if it was created or updated then; false if deleted or restored. */
  readonly isStatement: boolean
}

export interface RecordOf {
  readonly id: string
  readonly site: string
  readonly subject: string
  readonly version: number
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
}

export function expectedAnswer({ records, notices }: World, { subject, purpose, site, at }: Asked) {
  const until = (record: RecordOf) => record.states.filter(state => state.at <= at)
  const live = records.filter(one => one.subject === subject && until(one).at(-1)?.isLive)
  const newest = live.filter((one, index) => !live.slice(index + 1).some(later => later.site === one.site))
  const asked = newest.filter(one => site === undefined || one.site === site)
  const chosen = asked.findLast(one => Object.hasOwn(until(one).at(-1)?.preferences ?? {}, purpose)) ?? asked.at(-1)
  const states = chosen ? until(chosen) : []
  const present = states.at(-1)
  if (!chosen || !present)
    return { reason: 'no_record', allowed: null, id: null, notice: null, ends: null, renewal: null }
  const gives = (state: State) => state.accepted && state.preferences[purpose] === true
  const { held } = chosen
  const stated = states.findLast(state => state.isStatement)?.at ?? 0
  const ends = held?.validity && present.accepted ? after(stated, held.validity) : null
  const renewing = notices
    .filter(one => one.site === chosen.site && one.version > chosen.version && one.requiresRenewal)
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
  return { reason, allowed, id: chosen.id, notice: held?.version ?? 'not held', ends, renewal }
}

/** Calendar months, as far as the month has the day, and then days. */
export function after(at: number, { months, days }: { readonly months: number; readonly days: number }): number {
  const date = new Date(at)
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth() + months]
  const lastDay = new Date(Date.UTC(year, month + 1, 0)).getUTCDate()
  return Date.UTC(year, month, Math.min(date.getUTCDate(), lastDay) + days) + (at % 86_400_000)
}
