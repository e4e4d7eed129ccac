import { api, type Endpoint } from '../../src/contract/index.ts'
import type { HeaderName } from './responses.ts'

/** What HTTP carries of an operation beyond what the contract says. */
interface Notes {
  readonly description?: string
  /** What a success means. */
  readonly answer?: string
  readonly parameters?: readonly object[]
  /** Headers of a success. */
  readonly headers?: readonly HeaderName[]
  /** What is particular in the example of its answer. */
  readonly example?: object
}

const idempotencyKey = {
  name: 'Idempotency-Key',
  in: 'header',
  description:
    'Printable ASCII, kept for 24 hours for the account: the same body again gets the first answer again, and another body a 409. So does the same body once its record was deleted and purged.',
  required: false,
  schema: { type: 'string', pattern: '^[ -~]{1,255}$' },
  example: '0b0c7a52-61f4-4bb1-a1f9-0b6a6b1a2c4e',
}

const prefer = {
  name: 'Prefer',
  in: 'header',
  description: 'With `return=minimal` the answer has of each record that was made its id alone (RFC 7240).',
  required: false,
  schema: { type: 'string' },
  example: 'return=minimal',
}

const table = new Map<Endpoint, Notes>([
  [
    api.consents.create,
    {
      description:
        'Silence is no consent: `accepted` is false unless it is said. Preferences are at most 16 KiB of JSON, 8 levels deep, with 256 keys in all.',
      answer: 'The record.',
      parameters: [idempotencyKey],
      headers: ['Idempotent-Replayed'],
    },
  ],
  [
    api.consents.createBatch,
    {
      description:
        'Each row fares as a single create would: one that is wrong stops no other, and its `idempotency_key` is what the header Idempotency-Key is there; a batch with that header is refused with 400. Rows are made in their order. A body that is not as described, or no JSON that says one thing alone, is refused whole. Each row takes a unit of the quota; where fewer are left the first rows take them, and the others are refused with 429.',
      answer: 'What became of each row, in their order. It is 200 even where every row was refused.',
      parameters: [prefer],
      headers: ['Preference-Applied'],
    },
  ],
  [
    api.consents.list,
    {
      description:
        'Filters narrow; one that names a site of somebody else finds nothing. A cursor goes with the filters it was made with; `limit` may change between pages.\n\nWith `Accept: application/x-ndjson` the page and all that follow it come as one response, a page a line. Each of them is treated like a request of its own: it takes a unit of the quota when it is read, and the credential must still be good. **The list is complete only if `next_cursor` of the last line is null.** A stream that ends before, with a cut connection, is continued by a request with the last `next_cursor`; the answer to that says why, if there is something to do about it (the quota is used up, the key is revoked). The service cuts a stream when it stops, after a whole line, and when its reader takes nothing for a minute.',
      answer:
        'A page; `next_cursor` is null on the last one, and never leads to an empty one. As a stream, a page a line.',
    },
  ],
  [api.consents.get, { answer: 'The record. A deleted one is a 404 unless `include_deleted` is true.' }],
  [
    api.consents.update,
    {
      description:
        'Preferences are replaced whole. What is as it was already is no event: nothing is written.',
      answer: 'The record.',
    },
  ],
  [
    api.consents.remove,
    {
      description: 'From then on it is in no list and no read without `include_deleted`. A body is ignored.',
      answer: 'The record a last time.',
      example: { updated_at: '2026-11-20T20:50:27.128Z', deleted_at: '2026-11-20T20:50:27.128Z' },
    },
  ],
  [
    api.consents.history,
    {
      description:
        'The entries are a hash chain (SHA-256, JSON as in RFC 8785): `payload_hash` is of the salt and the state, `hash` of the hash before, the record, the version, the action, the actor, the time and `payload_hash`.',
      answer: 'Every event, each with the state after it; that of a deleted record too.',
    },
  ],
  [
    api.consents.receipt,
    {
      description:
        'In the names of ISO/IEC TS 27560:2023 and the W3C Data Privacy Vocabulary. The last line of the text is the Ed25519 signature of the lines above it, so keep the text as it comes: `consentctl verify` and openssl check it.',
      answer: 'The receipt. A deleted record is a 404.',
    },
  ],
  [
    api.signingKeys.list,
    {
      description:
        'A JWK Set (RFC 7517). Keep the keys before they are needed: what comes with them proves less.',
    },
  ],
  [
    api.banner.create,
    {
      description:
        'Address, user agent and site are those of the connection and the token. Pages may send it from the origins that the site allows: a preflight is answered for every origin, and the answer has `Access-Control-Allow-Origin`.',
      answer: 'What was recorded.',
    },
  ],
  [
    api.session.create,
    {
      description:
        'Needs HTTPS, but on localhost. A page must be of the service itself. Wrong e-mail and wrong password are answered alike.',
      answer: 'Signed in.',
      headers: ['Set-Cookie'],
    },
  ],
  [api.session.remove, { answer: 'Signed out.', headers: ['Set-Cookie'] }],
  [
    api.keys.create,
    { description: 'It has every scope and no end unless they are said; an end must be in the future.' },
  ],
  [api.keys.revoke, { description: 'It stops within a second on every node.' }],
  [
    api.subjects.erase,
    {
      description:
        'Deletes the live records of exactly this `subject_id`; with `ids` only those of them that it names, so that nothing is deleted that the caller has not seen. It works batch by batch, and stops after 1000 records or before it would take too long: `complete` is then false, and the next call continues. A call can be repeated at any time: a record that an earlier call with the same `ids` deleted is in `already_deleted`, with the instant. A dry run lists what would be deleted, 1000 records a call: pass the last id as `after` for the next ones. It is never refused for quota. What is deleted is in no list any more; its personal data goes when it is purged.',
      answer:
        'What was deleted, and a certificate: JSON whose last line is the Ed25519 signature of the lines above it. In a dry run what would be deleted, and no certificate.',
      example: { erased: 2, remaining: 0, dry_run: false },
    },
  ],
  [
    api.sites.rotateToken,
    {
      description: 'Those before it end after `overlap_hours`: 24 unless said, and at once with 0.',
    },
  ],
])

export function notesOn(endpoint: Endpoint): Notes {
  return table.get(endpoint) ?? {}
}
