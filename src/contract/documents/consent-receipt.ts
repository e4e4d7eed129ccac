import * as z from 'zod'
import type { CircumstanceName } from '../circumstance-words.ts'
import { onRequest } from '../values.ts'
import { Instant, KeyId, Sha256, signed } from './fields.ts'

/** DPV has no term for consent to only some of the purposes. */
export const stateTerms = {
  given: 'dpv:ConsentGiven',
  partly: 'urn:consentctl:ConsentPartlyGiven',
  withdrawn: 'dpv:ConsentWithdrawn',
  refused: 'dpv:ConsentRefused',
} as const
const states = z.enum(stateTerms)

const statuses = z.enum([...states.options, 'dpv:ConsentExpired'])

/** The consent ends or ended at `expires_at`. */
export function statusOf(
  state: z.output<typeof states>,
  { expires_at, issued_at }: Pick<ConsentReceipt, 'expires_at' | 'issued_at'>,
): z.output<typeof statuses> {
  const isGiven = state === stateTerms.given || state === stateTerms.partly
  return isGiven && expires_at !== null && expires_at <= issued_at ? 'dpv:ConsentExpired' : state
}

export const consentSchemaVersion = 'urn:consentctl:schema:consent-receipt:1'

const Preferences = z.record(z.string(), z.unknown()).meta({ examples: [{ analytics: false, marketing: true }] })

/** `not_answered`: its notice names it, and no answer did. */
export const purposeStates = ['given', 'refused', 'withdrawn', 'not_answered'] as const

const Purposes = z.array(
  z.strictObject({
    purpose: z.string().describe('A key of the preferences.'),
    state: z.enum(purposeStates),
    since: Instant.nullable().describe(
      'The given_at, else the event_time, of the event since which it is so; null if it was not answered.',
    ),
  }),
)

const Circumstances = z
  .strictObject({
    method: onRequest(z.string()),
    channel: onRequest(z.string()),
    form: onRequest(z.string()),
    form_sha256: onRequest(Sha256),
    given_by: onRequest(z.string()),
    relation: onRequest(z.string()),
    confirmed_at: onRequest(Instant),
    reference: onRequest(z.string()),
    note: onRequest(z.string()),
  } satisfies Record<CircumstanceName, z.ZodType>)
  .refine(told => Object.keys(told).length > 0, 'must have at least one field')

/** ISO/IEC TS 27560:2023 (6.3.7) without `validity_duration`, which a held notice states as `valid_for`. */
const ConsentEvent = z.strictObject({
  event_id: z.uuid().describe('The id of the entry in the history of the record.'),
  event_time: Instant,
  event_type: z
    .literal('dpv:Consent')
    .describe('The kind of consent: the general one, for whether it was explicit is not known here.'),
  event_state: states.describe(
    'The state after the event, by the purposes: those of the notice if it names any, else all.',
  ),
  entity_id: z.uuid().nullable().describe('The key, user or site that sent the event; null for the service itself.'),
  changed_by: z.enum(['api_key', 'user', 'site_token', 'system']).describe('What the entity is.'),
  preferences: Preferences.describe('After the event.'),
  given_at: Instant.nullable().describe(
    'When the person answered, as reported by the importer; null if the service recorded the answer at event_time.',
  ),
  gpc: z.boolean().describe('True if the answer came with the header `Sec-GPC: 1`; no consent and no refusal.'),
  circumstances: onRequest(
    Circumstances.describe(
      'How the answer was given, as reported by the sender; the service has not seen it. Absent if it was not told.',
    ),
  ),
})

const policy = {
  site_id: z.uuid(),
  policy_version: z.int().min(1),
  locale: z
    .string()
    .nullable()
    .describe('The language (BCP 47) of the text that was shown, as reported by the sender; null if not reported.'),
}

const NoticeNotHeld = z.strictObject({
  ...policy,
  notice: z
    .literal('not held')
    .describe(
      'The service tied no published notice to the record when it wrote it. One may have been published up to a second before.',
    ),
})

const NoticeHeld = z.strictObject({
  ...policy,
  notice: z.literal('held').describe('What follows was published before the service wrote the record.'),
  texts: z
    .array(
      z.strictObject({
        language: z.string(),
        media_type: z.string(),
        size: z.int().min(0).describe('In bytes.'),
        sha256: Sha256.describe('Of exactly the bytes that were uploaded.'),
      }),
    )
    .describe('By language.'),
  purposes: z.array(
    z.strictObject({
      key: z.string().describe('A key of the preferences.'),
      title: z.string(),
      language: z.string().nullable().describe('Of the title.'),
      iri: z.string().nullable().describe('A term of the W3C Data Privacy Vocabulary.'),
    }),
  ),
  controller: z.string().nullable(),
  valid_for: z
    .string()
    .regex(/^P(?=\d)(\d+W|(\d+Y)?(\d+M)?(\d+D)?)$/)
    .nullable()
    .describe('How long a consent is valid (ISO 8601), from its last event; null if it does not expire.'),
  requires_renewal: z.boolean().describe('True if consents to earlier versions became invalid.'),
  effective_from: Instant.nullable().describe('Null: from its publication.'),
  publication: z
    .strictObject({
      version: z.int().min(1),
      hash: Sha256.describe('The SHA-256 of its text.'),
      leaf_index: z.int().min(0).describe('Its leaf in the log, before every leaf of the record.'),
    })
    .describe('The entry of the administrators’ log that has all of this.'),
})

const Origin = z.strictObject({
  system: z.string().describe('The system that the record comes from.'),
  id: z.string().describe('Its id there.'),
  evidence: z.string().nullable().describe('The reference or proof there; null if not reported.'),
  imported_at: Instant.describe('When the service wrote it, by its own clock.'),
  files: z.array(Sha256).min(1).describe('The SHA-256 of each file that answers were read from, in their order.'),
  statement: z
    .string()
    .regex(/^as told by "([^"\\]|\\.)+", imported on [\dT:.-]+Z, file SHA-256 [\da-f]{64}(, [\da-f]{64})*$/)
    .describe('What is known of them.'),
})

const Timestamp = z
  .string()
  .regex(/^[A-Za-z\d+/]+={0,2}$/)
  .nullable()
  .describe('Its time stamp (RFC 3161) in base64; null if there was none.')

/** Proves that the log contains the last entry of the history, and when it did not yet. */
const PlaceInLog = z.strictObject({
  leaf_index: z.int().min(0).describe('The leaf whose data is chain_head, from 0.'),
  path: z.array(Sha256).describe('The inclusion proof of RFC 9162, in its order.'),
  checkpoint: z.string().describe('The text of the first signed checkpoint that has the leaf, to whose root it leads.'),
  timestamp: Timestamp,
  previous: z
    .strictObject({
      checkpoint: z.string().describe('The text of the signed checkpoint of previous_size, without the leaf.'),
      timestamp: Timestamp,
      path: z.array(Sha256).describe('The consistency proof of RFC 9162 from it to the other one.'),
    })
    .nullable()
    .describe('Null if previous_size is 0.'),
})

const NewerAnswer = z.strictObject({
  purpose: z.string().nullable().describe('One of the purposes; null, for the whole, if there are none.'),
  record_id: z.uuid(),
  answered_at: Instant.describe(
    'When that answer was recorded; of an imported one when it was given, as reported by the importer.',
  ),
  state: z
    .enum([...purposeStates, 'partly', 'expired'])
    .nullable()
    .describe('In that record; null if its history does not verify or is too long.'),
})

/**
 * Field names of ISO/IEC TS 27560:2023: `schema_version` and `record_id`, `pii_principal_id` (6.3.3),
 * `privacy_notice` (6.3.4), events (6.3.7), `receipt_id` (6.4.5). `dpv:` marks terms of the W3C Data Privacy
 * Vocabulary, https://w3id.org/dpv#. Other fields are this service's own; `record_version` and `chain_head` tie the
 * receipt to the history.
 */
export const ConsentReceipt = z.strictObject({
  type: z.literal('consent_receipt'),
  version: z.literal(1),
  schema_version: z.literal(consentSchemaVersion),
  receipt_id: z.uuid().describe('Of this receipt alone.'),
  issued_at: Instant,
  expires_at: Instant.nullable().describe(
    'When the consent ends or ended, by the valid_for of its notice; null if it has no end, or nothing was accepted.',
  ),
  record_id: z.uuid(),
  pii_principal_id: z.string().nullable().describe('Whose consent it is: subject_id of the record.'),
  consent_id: z.string().nullable().describe('The label that its caller gave it.'),
  privacy_notice: z
    .discriminatedUnion('notice', [NoticeNotHeld, NoticeHeld])
    .describe('What was consented to: the policy of a site, by its version, and its notice.'),
  country: z.string().nullable().describe('ISO 3166-1, by the address that it came from; no statement of the law.'),
  region: z.string().nullable(),
  consent_status: statuses.describe('When it was issued: the state after the last event, or expired.'),
  purposes: Purposes.describe(
    'What was answered for each purpose after the last event, by name: those of the notice, and each name that was true or false in the preferences.',
  ),
  compared_records: z
    .int()
    .min(1)
    .max(1000)
    .nullable()
    .describe(
      'How many live records of this identifier on this site were compared for newer answers, with this one; null if none were: without an identifier, or if more than 1,000 have it.',
    ),
  newer_answers: z
    .array(NewerAnswer)
    .describe(
      'By purpose, the other live record with the newest answer about it for this identifier on this site when the receipt was issued; none of a purpose whose newest answer is in this record.',
    ),
  preferences: Preferences.describe('The present ones.'),
  events: z
    .array(ConsentEvent)
    .min(1)
    .describe('Oldest first, complete. Those with a given_at were imported, all at one event_time.'),
  record_version: z.int().min(1).describe('How many events there are.'),
  chain_head: Sha256.describe('The hash of the last entry of the history.'),
  inclusion: PlaceInLog.nullable().describe('Null if no checkpoint had the last entry yet.'),
  origin: Origin.nullable().describe(
    'What the importer said of an imported record; the service has not seen it happen. Null of one that was not imported.',
  ),
  key_id: KeyId,
})
export type PrivacyNotice = z.output<typeof ConsentReceipt>['privacy_notice']
export type ConsentReceipt = z.output<typeof ConsentReceipt>

/** Keys of the notice's purposes; empty if no notice is held. */
export function namedPurposes(notice: PrivacyNotice): string[] {
  return notice.notice === 'held' ? notice.purposes.map(({ key }) => key) : []
}

export const SignedConsentReceipt = signed(ConsentReceipt)
