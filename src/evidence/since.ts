import type { ConsentReceipt } from '../contract/documents/consent-receipt.ts'
import { purposeWords } from './state.ts'
import { NotValid } from './verdict.ts'

type NewerAnswer = ConsentReceipt['newer_answers'][number]

type Status = Pick<ConsentReceipt, 'consent_status' | 'purposes'>

/** Such as `withdrawn (marketing withdrawn since 2026-02-01T09:30:00.000Z)`. */
function describeStatus({ consent_status, purposes }: Status): string {
  const whole = { ConsentGiven: 'given', ConsentPartlyGiven: 'given in part', ConsentExpired: 'expired' }
  const term = consent_status.replace(/^.*:/, '')
  const state = whole[term as keyof typeof whole] ?? term.replace('Consent', '').toLowerCase()
  const named = purposes.map(({ purpose, state: own, since }) =>
    [JSON.stringify(purpose), purposeWords(own), ...(since === null ? [] : ['since', since])].join(' '),
  )
  return named.length > 0 ? `${state} (${named.join(', ')})` : state
}

/** Continues the sentence about a receipt; empty without a newer answer. Answers of one record, time and state are one. */
export function describeNewer({ newer_answers: newer }: Pick<ConsentReceipt, 'newer_answers'>): string {
  const groups = new Map<string, NewerAnswer[]>()
  for (const answer of newer) {
    const key = `${answer.record_id} ${answer.answered_at} ${answer.state}`
    groups.set(key, [...(groups.get(key) ?? []), answer])
  }
  return [...groups.values()].map(describeGroup).join('')
}

function describeGroup(answers: readonly NewerAnswer[]): string {
  const [{ record_id, answered_at, state } = answers[0] as NewerAnswer] = answers
  const names = answers.flatMap(({ purpose }) => (purpose === null ? [] : JSON.stringify(purpose))).join(', ')
  const place = `for the same identifier on this site, in the record ${record_id}`
  if (state === 'not_answered') return `; a newer answer of ${answered_at} was recorded ${place}, without ${names}`
  const told = state === null ? 'see its history for what was answered' : describeState(state)
  return `; a newer answer ${names && `about ${names} `}of ${answered_at} was recorded ${place}: ${told}`
}

function describeState(state: NonNullable<NewerAnswer['state']>): string {
  return state === 'partly' ? 'given in part' : state.replace('_', ' ')
}

/** The present receipt of a record; or why there is none, which completes "the instance …". */
export type Present = ConsentReceipt | { readonly problem: string }

/**
 * What changed since a consent receipt was issued, by the instance's present one; a suffix for the detail.
 * @throws NotValid if the present history does not continue that of the receipt
 */
export function describeSince(receipt: ConsentReceipt, present: Present): string {
  if ('problem' in present) return `; the instance ${present.problem}`
  const isContinued = receipt.events.every(({ event_id }, index) => event_id === present.events[index]?.event_id)
  if (present.record_id !== receipt.record_id || !isContinued)
    throw new NotValid('is signed, but the history of its record no longer has its events')
  const isSame = present.chain_head === receipt.chain_head
  const isSameState = isSame && present.consent_status === receipt.consent_status
  const state = isSameState ? '' : `, and is ${describeStatus(present)}`
  const own = `; at ${present.issued_at} its record ${isSame ? 'is the same' : 'was changed since'}${state}`
  if (present.pii_principal_id === null) return own
  const none =
    present.compared_records === null ? 'compared no other records' : 'knows no newer answer about its purposes'
  return own + (describeNewer(present) || `; the instance ${none} for the same identifier on this site`)
}
