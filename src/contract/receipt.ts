import { SignedConsentReceipt } from './documents/consent-receipt.ts'
import { ById, type EndpointDocs, endpoint, NoQuery } from './endpoint.ts'

/** Separate: its schema would add 5 % to the start of every command. */
export const receipt = endpoint({
  summary: 'Get a signed statement of what a record says and how it came about',
  method: 'GET',
  path: '/api/v1/consents/:id/receipt',
  statesTime: true,
  access: 'account',
  scope: 'read',
  params: ById,
  query: NoQuery,
  status: 200,
  response: SignedConsentReceipt,
  errors: ['conflict'],
})

export const receiptDocs: EndpointDocs = {
  description:
    'In the terms of ISO/IEC TS 27560:2023 and the W3C Data Privacy Vocabulary. The last line of the text is the Ed25519 signature of the lines above it, so store the text unchanged: `consentctl verify` and openssl check it. Of an imported record `origin` and `given_at` are as reported by the importer. No receipt is signed (409) for a record with more than 500 events, or with one that is dated before a checkpoint of the log that was made without it; nor (500) for one that `admin verify` would report.',
  success: 'The receipt. A deleted record is a 404.',
}
