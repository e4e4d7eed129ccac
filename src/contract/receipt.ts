import * as z from 'zod'
import { SignedConsentReceipt } from './documents/consent-receipt.ts'
import { accountRead, ById, type EndpointDocs, endpoint } from './endpoint.ts'
import { readers } from './roles.ts'
import { text } from './values.ts'

/** Separate: its schema would add 5 % to the start of every command. */
export const receipt = endpoint({
  ...accountRead,
  siteKeys: 'filtered',
  roles: readers,
  summary: 'Get a signed statement of what a record says and how it came about',
  path: '/api/v1/consents/:id/receipt',
  statesTime: true,
  params: ById,
  response: SignedConsentReceipt,
  errors: ['conflict'],
})

/** A tar archive; `src/evidence/pack.md` has its files. */
export const evidence = endpoint({
  ...accountRead,
  siteKeys: 'filtered',
  roles: readers,
  summary: 'Get an archive that proves a record without the service',
  path: '/api/v1/consents/:id/evidence',
  statesTime: true,
  params: ById,
  response: z.unknown(),
  media: ['application/x-tar'],
  errors: ['conflict'],
})

/** `evidence` of a purged record, for the holder of its identifier. A POST, because identifiers belong in no URL. */
export const sealedEvidence = endpoint({
  ...evidence,
  method: 'POST',
  summary: 'Get an archive that proves what the subject of a purged record answered',
  body: z.strictObject({ subject_id: text(1, 255).describe('Compared with the sealed HMAC.') }),
})

export const sealedEvidenceDocs: EndpointDocs = {
  description:
    'Like `GET`, of a purged record that left a sealed proof: its history has the proof, and the signed list of the files says that this identifier was presented and matched. Any other record, and another identifier, is a 404.',
  success: 'The archive.',
}

export const evidenceDocs: EndpointDocs = {
  description:
    'The record, its history and receipt, its notice with its texts, the entries of the administrators’ log about its site and its actors, and proofs that the log has them. The service verifies all of it, and signs the list of the files. An API key, an owner or an operator gets a checkpoint with the record first, if there is none; a reader gets a 503 until there is. No archive is made (409) of what does not verify, of a record with more than 500 events, or of a notice with texts of more than 16 MiB in total. A node makes one archive at a time, and answers 503 to what does not get its turn. `consentctl verify` checks an archive.',
  success: 'The archive.',
}

export const receiptDocs: EndpointDocs = {
  description:
    'In the terms of ISO/IEC TS 27560:2023 and the W3C Data Privacy Vocabulary. The last line of the text is the Ed25519 signature of the lines above it, so store the text unchanged: `consentctl verify` and openssl check it. Of an imported record `origin` and `given_at` are as reported by the importer. No receipt is signed (409) for a record with more than 500 events, or with one that is dated before a checkpoint of the log that was made without it; nor (500) for one that `admin verify` would report.',
  success: 'The receipt. A deleted record is a 404.',
}
