import { type ConsentReceipt, consentSchemaVersion } from '../../src/contract/documents/consent-receipt.ts'
import { keyIdOf, publicBytes, publicPem, signingKeyOf } from '../../src/evidence/keys.ts'
import { signDocument } from '../../src/evidence/signed.ts'
import { consentOf, datePurposes } from '../../src/evidence/state.ts'
import { site, uuid } from './support.ts'

/** What the service of these tests signs with. */
export const serviceKey = signingKeyOf(Buffer.alloc(32, 5))

const accepted: ConsentReceipt['events'][number] = {
  event_id: uuid(21),
  event_time: '2026-01-31T09:30:00.000Z',
  event_type: 'dpv:Consent',
  event_state: 'dpv:ConsentGiven',
  entity_id: uuid(22),
  changed_by: 'api_key',
  preferences: { marketing: true },
  given_at: null,
  gpc: false,
}

/** The purposes of accepted events. */
function purposesOf(events: ConsentReceipt['events']): ConsentReceipt['purposes'] {
  const { purposes } = consentOf(events.map(({ preferences }) => ({ accepted: true, preferences })))
  return datePurposes(
    purposes,
    events.map(({ given_at, event_time }) => given_at ?? event_time),
  )
}

/** A receipt with every field, without its signature. */
export function receiptOf({ events = [accepted], ...fields }: Partial<ConsentReceipt> = {}): ConsentReceipt {
  return {
    type: 'consent_receipt',
    version: 1,
    schema_version: consentSchemaVersion,
    receipt_id: uuid(20),
    issued_at: '2026-01-31T09:30:01.000Z',
    record_id: uuid(1),
    pii_principal_id: 'maria\u202e@example.com',
    consent_id: null,
    privacy_notice: { site_id: site, policy_version: 3, locale: null, notice: 'not held' },
    country: 'DE',
    region: null,
    consent_status: 'dpv:ConsentGiven',
    purposes: purposesOf(events),
    compared_records: fields.pii_principal_id === null ? null : 2,
    newer_answers: [],
    preferences: { marketing: true },
    events,
    record_version: 1,
    chain_head: '0'.repeat(64),
    inclusion: null,
    expires_at: null,
    origin: null,
    key_id: keyIdOf(serviceKey),
    ...fields,
  }
}

/** The text of a receipt as the service signs it. */
export function signedReceipt(fields: object = {}): string {
  return signDocument(receiptOf(fields), serviceKey)
}

/** The keys as an instance publishes them. */
export function keySetOf(...keys: (typeof serviceKey)[]) {
  return {
    keys: keys.map(key => ({
      kty: 'OKP',
      crv: 'Ed25519',
      x: publicBytes(key).toString('base64url'),
      kid: keyIdOf(key),
      use: 'sig',
      alg: 'EdDSA',
      pem: publicPem(key),
    })),
  }
}
