import * as z from 'zod'
import { endpoint, NoQuery, type ResourceDocs } from './endpoint.ts'
import { HoldNotice } from './holds.ts'
import { operators, readers } from './roles.ts'
import { Count, ExactCount, Id, onRequest, optional, Timestamp, text, Uuid } from './values.ts'
import { SubjectWithdrawal, SubjectWithdrawn, withdrawnRecordsLimit } from './withdrawals.ts'

/** Maximum number of ids in a request, and of records in a response. */
export const erasedRecordsLimit = 1000

export const SubjectErasure = z.strictObject({
  subject_id: text(1, 255).describe('Identifier of the data subject, compared exactly.'),
  ids: z
    .array(Uuid, 'must be a list of UUIDs')
    .max(erasedRecordsLimit, `must have at most ${erasedRecordsLimit} ids`)
    .optional()
    .describe('Only these records of the subject are deleted, none if it is empty; without it all.'),
  reason: text(1, 500).optional().describe('Repeated in the certificate.'),
  ticket: text(1, 100).optional().describe('Repeated in the certificate.'),
  dry_run: z.boolean('must be true or false').optional().describe('Only count and list; false unless set to true.'),
  after: Uuid.optional().describe('Only records whose ids come after this one: for the next page of a dry run.'),
})
export type SubjectErasure = z.output<typeof SubjectErasure>

const SubjectRecord = z.object({
  id: Id,
  site_id: Id,
  deleted_at: Timestamp.nullable().describe('Null in a dry run.'),
})

export const SubjectErased = z.object({
  erased: ExactCount.describe(
    'Number of records that this call has deleted; in a dry run, that it would delete without a legal hold.',
  ),
  remaining: ExactCount.describe('Number of live records of the subject that are left.'),
  deleted: ExactCount.describe('Number of records of the subject that are deleted and not purged yet.'),
  complete: z
    .boolean()
    .describe(
      'True if none of the records that were to be deleted is live, and those deleted before are marked as covered. If false, call again.',
    ),
  marked: ExactCount.default(0).describe(
    'Number of records deleted before that this call has marked as covered. If it and `erased` are 0 and `complete` is false, the call has changed nothing.',
  ),
  held: HoldNotice.nullable()
    .default(null)
    .describe('The legal hold that keeps the records of the subject, and ends last; null without one.'),
  dry_run: z.boolean(),
  sites: z
    .array(z.object({ site_id: Id, records: ExactCount.meta({ minimum: 1 }) }))
    .describe('What `erased` counts, by site.'),
  records: z
    .array(SubjectRecord)
    .max(erasedRecordsLimit)
    .describe('What `erased` counts, by id, oldest first; in a dry run the first of them.'),
  already_deleted: z
    .array(SubjectRecord)
    .max(erasedRecordsLimit)
    .describe('Those of `ids` that were deleted before this call and are not purged yet.'),
  unverified: z
    .array(Id)
    .max(2 * erasedRecordsLimit)
    .default([])
    .describe(
      'Those of `records` and `already_deleted` whose history did not verify, or not in the time of the call: no purge takes a record whose history does not verify.',
    ),
  certificate: z
    .string()
    .nullable()
    .meta({ examples: ['{\n  "type": "erasure_certificate",\n  "version": 1,\n  …'] })
    .describe('The text of a signed document of the type erasure_certificate; null in a dry run.'),
  subject_hmac: optional(z.string())
    .meta({ nullable: false, pattern: '^[\\da-f]{64}$' })
    .describe('HMAC of the subject, the same in all its certificates.'),
})
export type SubjectErased = z.output<typeof SubjectErased>

export const PurgeQuestion = z.strictObject({
  ids: z
    .array(Uuid, 'must be a list of UUIDs')
    .min(1, 'must not be empty')
    .max(erasedRecordsLimit, `must have at most ${erasedRecordsLimit} ids`),
})
export type PurgeQuestion = z.output<typeof PurgeQuestion>

export const PurgeAnswer = z.object({
  records: z
    .array(
      z.object({
        id: Id,
        site_id: Id,
        state: z
          .string()
          .meta({ enum: ['live', 'deleted', 'purged', 'unverified'] })
          .describe('unverified: the stored record differs from what was recorded, so nothing is certified.'),
        deleted_at: Timestamp.nullable(),
        purged_at: Timestamp.nullable(),
        sealed: onRequest(z.object({ basis: z.string(), until: Timestamp })).describe(
          'The sealed proof that the purge left; else it is left out.',
        ),
      }),
    )
    .max(erasedRecordsLimit)
    .describe('Those of `ids` that the account has, by id.'),
  certificate: z
    .string()
    .nullable()
    .meta({ examples: ['{\n  "type": "purge_certificate",\n  "version": 1,\n  …'] })
    .describe('The text of a signed document of the type purge_certificate about the purged ones; null if none is.'),
})
export type PurgeAnswer = z.output<typeof PurgeAnswer>

/** Records per unit of the quota in `POST /api/v1/subjects/purged`. */
export const purgedPerUnit = 100

export const nearMatchesLimit = 100

export const NearMatches = z.object({
  total: ExactCount.describe('Number of identifiers that are near matches.'),
  data: z
    .array(
      z.object({
        subject_id: z.string().describe('As it is stored.'),
        live: ExactCount.describe('Number of live records.'),
        deleted: ExactCount.describe('Number of deleted records that are not purged yet.'),
      }),
    )
    .max(nearMatchesLimit)
    .describe('The first of them.'),
})
export type NearMatches = z.output<typeof NearMatches>

export const SubjectPurge = PurgeQuestion.extend({
  dry_run: z
    .boolean('must be true or false')
    .optional()
    .describe('Only return their states; false unless set to true.'),
})
export type SubjectPurge = z.output<typeof SubjectPurge>

export const SubjectPurged = PurgeAnswer.extend({
  complete: z.boolean().describe('True if none of the records is deleted and not purged yet. If false, call again.'),
  dry_run: z.boolean(),
})
export type SubjectPurged = z.output<typeof SubjectPurged>

export const sealedLimit = 1000

export const SealedQuestion = z.strictObject({
  subject_id: text(1, 255).describe('Identifier of the data subject, compared exactly.'),
  record_id: Uuid.optional().describe('Only the proof of this record, with its answers.'),
})
export type SealedQuestion = z.output<typeof SealedQuestion>

export const SealedProofs = z.object({
  data: z
    .array(
      z.object({
        record_id: Id,
        site_id: Id,
        purged_at: Timestamp,
        basis: z.string().describe('Why it is kept, as the site said at the purge.'),
        until: Timestamp.describe('When it is removed, unless a legal hold keeps it.'),
        answers: onRequest(
          z.array(z.object({ version: Count.meta({ minimum: 1 }), preferences: z.record(z.string(), z.boolean()) })),
        ).describe('By the version of the history; only with `record_id`.'),
      }),
    )
    .max(sealedLimit)
    .describe('Newest record first.'),
})
export type SealedProofs = z.output<typeof SealedProofs>

const post = { method: 'POST', access: 'account', query: NoQuery, status: 200 } as const

export const subjects = {
  erase: endpoint({
    ...post,
    siteKeys: 'rejected',
    roles: operators,
    summary: 'Delete records of a subject, over all sites of the account; their history stays',
    path: '/api/v1/subjects/erase',
    scope: 'erase',
    unit: 'optional',
    body: SubjectErasure,
    response: SubjectErased,
  }),
  withdraw: endpoint({
    ...post,
    siteKeys: 'filtered',
    roles: operators,
    summary: 'Turn off purposes in the records of a subject that grant them, over all sites of the account or one',
    path: '/api/v1/subjects/withdraw',
    scope: 'write',
    unit: 'optional',
    body: SubjectWithdrawal,
    response: SubjectWithdrawn,
    errors: ['not_found'],
  }),
  certifyPurge: endpoint({
    ...post,
    siteKeys: 'rejected',
    roles: readers,
    summary: 'Certify which records hold no personal data any more',
    path: '/api/v1/subjects/purged',
    statesTime: true,
    scope: 'read',
    body: PurgeQuestion,
    response: PurgeAnswer,
  }),
  purge: endpoint({
    ...post,
    siteKeys: 'rejected',
    roles: operators,
    summary: 'Purge the personal data of deleted records at once',
    path: '/api/v1/subjects/purge',
    scope: 'erase',
    unit: 'optional',
    body: SubjectPurge,
    response: SubjectPurged,
    errors: ['conflict'],
  }),
  nearMatches: endpoint({
    ...post,
    siteKeys: 'filtered',
    roles: readers,
    summary: 'Find identifiers that differ from one only in case, blanks or Unicode form',
    path: '/api/v1/subjects/near-matches',
    scope: 'read',
    unit: 'optional',
    body: z.strictObject({ subject_id: text(1, 255) }),
    response: NearMatches,
  }),
  sealed: endpoint({
    ...post,
    siteKeys: 'filtered',
    roles: readers,
    summary: 'List the sealed proofs of a subject whose records were purged',
    path: '/api/v1/subjects/sealed',
    scope: ['read', 'erase'],
    unit: 'optional',
    body: SealedQuestion,
    response: SealedProofs,
  }),
}

export const subjectsDocs: ResourceDocs<typeof subjects> = {
  description: 'Records that an account has about one person.',
  endpoints: {
    erase: {
      description:
        'Deletes the live records of exactly this `subject_id`; with `ids` only those of them that it names, so that nothing is deleted that the caller has not seen. It works batch by batch, and stops after 1000 records or before it would take too long: `complete` is then false, and the next call continues. A call can be repeated at any time: a record that an earlier call with the same `ids` deleted is in `already_deleted`, with its time of deletion. A dry run lists what would be deleted, 1000 records a call: pass the last id as `after` for the next ones. While a legal hold on the subject stands, it deletes nothing, and says so in `held`. It is never rejected for quota. No list has deleted records any more; their personal data is removed when they are purged.',
      success:
        'What was deleted, and a certificate: JSON whose last line is the Ed25519 signature of the lines above it. In a dry run what would be deleted, and no certificate.',
      example: { erased: 2, remaining: 0, dry_run: false },
    },
    withdraw: {
      description: `Sets each of the purposes to false in the preferences of every live record of exactly this \`subject_id\` that grants it, that is accepted and has \`true\` for it; other preferences stay. A record that then grants no purpose is set to \`accepted: false\`: its consent as a whole is withdrawn. A record that grants none of them is not changed, also if it is accepted without any preferences. Each change is an ordinary entry \`updated\` of the caller, so the validity of what the record still grants counts from it. A record that somebody else changes meanwhile is read again. It works batch by batch, and stops after ${withdrawnRecordsLimit} records or before it would take too long: \`complete\` is then false, and the next call continues. A call can be repeated at any time: it changes only what still grants a purpose. With \`ids\` nothing is changed that the caller has not seen. A dry run lists what would be changed, ${withdrawnRecordsLimit} records a call: pass the last id as \`after\` for the next ones. It is never rejected for quota.`,
      success: 'What was changed, with the versions before and after; in a dry run what would be changed.',
      example: { withdrawn: 2, remaining: 0, live: 3, not_answered: 0, dry_run: false },
    },
    certifyPurge: {
      description:
        'Verifies each record with its whole history. Personal data of a purged record is gone from the tables of the database: the subject, the label, the address, the browser and the preferences, from the record and from its history. What is left (the site, the acceptance, the policy version, times and actors, under the id of the record) is pseudonymous, not anonymous. Backups, write-ahead logs and free space of the database are not covered, nor are the planner’s statistics until the end of the purge, or the next `analyze` if it was killed. A call takes a unit of the quota for each hundred ids.',
      success: 'The state of each record, and a certificate about the purged ones.',
    },
    purge: {
      description:
        'Purges these deleted records now instead of on schedule. This cannot be undone: the entry `purged` names the caller. Live records stay, and so does one whose history does not verify. It stops before it would take too long: `complete` is then false, and the next call continues. It is never rejected for quota. What certificates of a purge do not cover is said at `/api/v1/subjects/purged`; the planner’s statistics follow within about an hour, or with `analyze`.',
      success: 'The state of each record, and a certificate about the purged ones; in a dry run the states alone.',
      example: { complete: true, dry_run: false },
    },
    nearMatches: {
      description:
        'Compares without case, by the full case mappings of Unicode, without White_Space at the ends, and in the Unicode form NFKC, as each record was compared when it was written. The identifier itself is not a near match. Nothing but this call compares so: lists and erasures are of exactly one identifier. It is a POST because identifiers belong in no URL. It is never rejected for quota.',
      success: 'The near matches that have records, in the order of their code points.',
    },
    sealed: {
      description:
        'A site may keep a sealed proof of purged records (`sealed_proof`): an HMAC of the identifier and the answers. They are found by exactly the identifier, and by nothing else. With `record_id` it also shows the answers of that record to who presents the identifier, and may read. It is never rejected for quota.',
      success: 'The proofs, of at most 1,000 records. None, if the subject has none or is unknown.',
    },
  },
}
