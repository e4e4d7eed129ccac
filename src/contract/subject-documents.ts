import * as z from 'zod'
import { endpoint, NoQuery, type ResourceDocs } from './endpoint.ts'
import { operators, readers } from './roles.ts'
import { FileDigest, Id, pageOf, pageQuery, Timestamp, text } from './values.ts'

const path = '/api/v1/subjects/documents'

/** ASCII characters of a document. */
export const documentLimit = 1024 * 1024

/** Of a page, in characters of its documents, unless it has only one. */
export const documentPageLimit = 4 * documentLimit

export const documentTicketLimit = 100

export const documentHmacsLimit = 1000

const Text = z.string().meta({ examples: ['{\n  "type": "erasure_receipt",\n  "version": 1,\n  ...'] })

const PublicKey = z.string().meta({
  examples: [
    '-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n-----END PUBLIC KEY-----\n',
  ],
})

export const KeptDocument = z.object({
  id: Id,
  sha256: z.string().meta({ pattern: '^[\\da-f]{64}$' }),
  document: Text.describe('As it was signed.'),
  public_key: PublicKey.describe('The key that verifies the signature, in PEM.'),
  key_known_since: Timestamp.describe('When the service kept the first document that this key signed.'),
  kept_at: Timestamp,
})
export type KeptDocument = z.output<typeof KeptDocument>

export const DocumentDraft = z.strictObject({
  document: z
    .string('must be text')
    .min(1, 'must not be empty')
    .max(documentLimit, `must have at most ${documentLimit} characters`)
    .regex(/^[\n -~]*$/, 'must be ASCII')
    .meta({ ...Text.meta() })
    .describe('The text of a signed document of the type erasure_receipt or withdrawal_receipt.'),
  public_key: text(1, 1000)
    .meta({ ...PublicKey.meta() })
    .describe('The Ed25519 key that signed it, in PEM.'),
})
export type DocumentDraft = z.output<typeof DocumentDraft>

export const DocumentQuery = z.strictObject({
  ticket: text(1, documentTicketLimit).optional(),
  subject_hmac: FileDigest.optional().describe('Of an identifier of the person, by `POST /api/v1/subjects/hmacs`.'),
  key_id: text(1, 100).optional().describe('The signing key, as in the documents.'),
  sha256: z
    .string()
    .regex(/^[\da-f]{8,64}$/, 'must be the first 8 to 64 lower-case hexadecimal digits of a SHA-256')
    .meta({ examples: ['6bc98591504769a7'] })
    .optional()
    .describe('The SHA-256 of the document, or its first digits.'),
  ...pageQuery,
})
export type DocumentQuery = z.output<typeof DocumentQuery>

export const DocumentPage = pageOf(KeptDocument)
export type DocumentPage = z.output<typeof DocumentPage>

export const subjectHmacsLimit = 100

export const SubjectHmacs = z.object({
  account_id: Id,
  subject_hmacs: z
    .array(z.string().meta({ pattern: '^[\\da-f]{64}$' }))
    .describe('Of each identifier, in the same order.'),
})
export type SubjectHmacs = z.output<typeof SubjectHmacs>

const kept = { access: 'account', scope: ['erase', 'write'], query: NoQuery, unit: 'optional' } as const

export const documents = {
  keep: endpoint({
    ...kept,
    siteKeys: 'rejected',
    roles: operators,
    summary: 'Keep the signed document of an erasure or a withdrawal',
    method: 'POST',
    path,
    body: DocumentDraft,
    status: 201,
    response: KeptDocument,
  }),
  list: endpoint({
    ...kept,
    siteKeys: 'rejected',
    roles: readers,
    summary: 'List the kept documents of erasures and withdrawals, newest first',
    method: 'GET',
    path,
    query: DocumentQuery,
    status: 200,
    response: DocumentPage,
  }),
  hmacs: endpoint({
    ...kept,
    siteKeys: 'allowed',
    roles: readers,
    summary: 'Get the HMACs by which documents name a subject',
    method: 'POST',
    path: '/api/v1/subjects/hmacs',
    body: z.strictObject({
      subject_ids: z
        .array(text(1, 255), 'must be a list')
        .min(1, 'must not be empty')
        .max(subjectHmacsLimit, `must have at most ${subjectHmacsLimit} identifiers`),
    }),
    status: 200,
    response: SubjectHmacs,
  }),
}

export const documentsDocs: ResourceDocs<typeof documents> = {
  description:
    'Signed documents in which operators state what they did to answer a request: erasure records (`erasure_receipt`) and withdrawal records (`withdrawal_receipt`). They are kept as they were signed, and each has an entry in the administrators’ log with its SHA-256, so that none can be changed or removed without `admin verify` finding it. None of it is ever rejected for quota.',
  endpoints: {
    keep: {
      description: `The document must be of this account, match its schema and have a valid signature of this key. It must name the person by the HMACs of the account (\`"hmac_key": "account"\`) and not in clear text (\`"subjects": null\`), with at most ${documentHmacsLimit} identifiers and ${documentTicketLimit} characters of the ticket. One of an erasure needs the scope \`erase\`. The same document again changes nothing. What the document says is the statement of its signer: the service verifies the signature, not the statement, and anyone who may keep documents can sign one.`,
    },
    list: {
      description: `A page has fewer documents than \`limit\` if they have more than ${documentPageLimit / 1024 / 1024} MiB. \`key_known_since\` tells a key that was used for years from one that came with this document.`,
    },
    hmacs: {
      description:
        'They are those of certificates, holds, the register and the access log. Only the service has their key; an identifier goes in a body, never in a URL.',
    },
  },
}
