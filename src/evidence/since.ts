import type { ConsentReceipt } from '../contract/documents/consent-receipt.ts'
import { purposeWords } from './state.ts'
import { NotValid } from './verdict.ts'

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

/** Example: `in the record R at INSTANT: refused ("marketing" refused since …)`. */
export function describeAnswer(newer: NonNullable<ConsentReceipt['newer_answer']>): string {
  const { record_id, answered_at, consent_status, purposes } = newer
  const isStated = consent_status !== null && purposes !== null
  const status = isStated ? describeStatus({ consent_status, purposes }) : 'see its history for what was answered'
  return `in the record ${record_id} at ${answered_at}: ${status}`
}

/** Continues the sentence about a receipt; empty without a newer answer. */
export function describeNewer({ newer_answer: newer }: ConsentReceipt): string {
  return newer ? `; the person answered again on this site, ${describeAnswer(newer)}` : ''
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
  return own + (describeNewer(present) || '; the instance knows no newer answer of the person on this site')
}
