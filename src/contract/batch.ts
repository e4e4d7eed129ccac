import * as z from 'zod'
import { Consent, ConsentDraft } from './consents.ts'
import { type EndpointDocs, endpoint, NoQuery } from './endpoint.ts'
import { ErrorBody } from './errors.ts'
import type { ImportRow } from './imports.ts'
import { operators } from './roles.ts'
import { optional } from './values.ts'

export const batchLimits = { rows: 1000, bytes: 1024 * 1024, importsPerUnit: 100 } as const

export const BatchRow = ConsentDraft.extend({
  idempotency_key: z
    .string('must be text')
    .regex(/^[\x20-\x7e]{1,255}$/, 'must be 1 to 255 printable ASCII characters')
    .optional()
    .describe('Makes it happen once, as the header of a single create does.'),
})
export type BatchRow = z.output<typeof BatchRow>

const size = `must have from 1 to ${batchLimits.rows} rows`

/** Validated row by row: an invalid row does not stop the others. */
export const ConsentBatch = z.strictObject({
  records: z
    .array(
      z
        .custom<z.input<typeof BatchRow> | z.input<typeof ImportRow>>()
        .meta({ anyOf: ['BatchRow', 'ImportRow'].map(name => ({ $ref: `#/components/schemas/${name}` })) }),
      size,
    )
    .min(1, size)
    .max(batchLimits.rows, size),
})
export type ConsentBatch = z.output<typeof ConsentBatch>

const RecordId = Consent.pick({ id: true })

const RowMade = z.object({
  status: z.literal(201),
  consent: z.union([Consent, RecordId]).describe('The record, or with `Prefer: return=minimal` its id.'),
  replayed: z
    .boolean()
    .default(false)
    .describe('Its key was used before: this is the first answer again, and nothing was made.'),
})

const RowRefused = z.object({
  status: z.int().meta({ minimum: 400, maximum: 599 }),
  error: ErrorBody,
  retry_after: optional(z.number().meta({ type: 'integer', minimum: 1 })).describe(
    'After how many seconds to try it again, where that may help.',
  ),
})
export type RowRefused = z.output<typeof RowRefused>

/** The outcome that a single create would have. */
export const RowOutcome = z.union([RowMade, RowRefused])
export type RowOutcome = z.output<typeof RowOutcome>

export const BatchOutcome = z.object({ results: z.array(RowOutcome) })
export type BatchOutcome = z.output<typeof BatchOutcome>

/** Checks only the id: validating every field would take most of an import's time. */
const RowId = z.custom<{ readonly status: 201; readonly consent: z.output<typeof RecordId> }>(row => {
  const { status, consent } = Object(row)
  return status === 201 && typeof Object(consent).id === 'string'
})

export function idsOf(rows: number) {
  return z.object({ results: z.array(z.union([RowId, RowRefused])).length(rows) })
}

export const createBatch = endpoint({
  summary: 'Create up to 1,000 consent records, each with an outcome of its own',
  method: 'POST',
  path: '/api/v1/consents/batch',
  access: 'account',
  scope: ['write', 'import'],
  siteKeys: 'filtered',
  roles: operators,
  query: NoQuery,
  body: ConsentBatch,
  status: 200,
  response: BatchOutcome,
})

export const createBatchDocs: EndpointDocs = {
  description:
    'Each row is handled as a single create would be: an invalid row does not stop the others, and its `idempotency_key` stands for the header Idempotency-Key, which a batch must not have (400). Rows are created in their order. A body that is not as described, or is ambiguous JSON, is rejected as a whole. Each row takes a unit of the quota; if fewer are left, the first rows take them, and the others get 429.\n\nRows with an `origin` are imports: records of another system, whose `given_at`, `origin` and `file_sha256` are as reported by the importer. They need an API key with the scope `import`, other rows one with `write`, and a batch has rows of one kind alone. An origin identifies one record per account, permanently: the same row again is replayed, also if its record was changed or deleted, whatever its file is; another content, or a purged record, is a `conflict`. Each answer is an entry `imported`. Import rows take a unit of the quota for each hundred rows begun, which is returned if all of these fail with a 5xx. An imported record has no notice and does not expire, and strict sites take it.',
  success: 'The result of each row, in their order. It is 200 even if every row was rejected.',
  requestHeaders: {
    Prefer: {
      description: 'With `return=minimal` the response has only the id of each created record (RFC 7240).',
      schema: { type: 'string' },
      example: 'return=minimal',
    },
  },
  responseHeaders: {
    'Preference-Applied': {
      description: 'The response has only the ids of the records, as preferred (RFC 7240 section 3).',
      schema: { type: 'string', const: 'return=minimal' },
      example: 'return=minimal',
    },
  },
}
