import type { ConsentReceipt } from '../contract/documents/consent-receipt.ts'
import { purposeWords } from './state.ts'

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

/** What a consent receipt says of a newer answer; a suffix for the detail. */
export function describeNewer({ newer_answer: newer }: ConsentReceipt): string {
  if (!newer) return ''
  const { record_id, answered_at } = newer
  return `; the person answered again on this site, in the record ${record_id} at ${answered_at}: ${describeStatus(newer)}`
}

/**
 * What changed since a consent receipt was issued, by the instance's present one; a suffix for the detail.
 * @param present null if the instance shows no live record of its id
 */
export function describeSince(receipt: ConsentReceipt, present: ConsentReceipt | null): string {
  if (!present) return '; the instance shows no live record of its id any more'
  const isSame = present.chain_head === receipt.chain_head
  const isSameState = isSame && present.consent_status === receipt.consent_status
  const state = isSameState ? '' : `, and is ${describeStatus(present)}`
  const own = `; at ${present.issued_at} its record ${isSame ? 'is the same' : 'was changed since'}${state}`
  if (present.pii_principal_id === null) return own
  return own + (describeNewer(present) || '; the instance knows no newer answer of the person on this site')
}
