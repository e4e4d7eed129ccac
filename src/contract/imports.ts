import * as z from 'zod'
import { Circumstances } from './circumstances.ts'
import { ConsentDraft } from './consents.ts'
import { parseInstant } from './instant.ts'
import { Preferences } from './json.ts'
import { FileDigest, PastInstant, PolicyVersion, text } from './values.ts'

const boolean = z.boolean('must be true or false')

/** The complete state after a later answer of the person. */
const ImportedChange = z.strictObject({
  given_at: PastInstant.describe('Not before that of the previous answer.'),
  accepted: boolean,
  preferences: Preferences,
  policy_version: PolicyVersion.optional().describe('Default: that of the previous answer.'),
  file_sha256: FileDigest.optional().describe('Default: that of the previous answer.'),
  circumstances: Circumstances.optional(),
})
export type ImportedChange = z.output<typeof ImportedChange>

/** Requires the scope `import`. */
export const ImportRow = ConsentDraft.extend({
  policy_version: PolicyVersion.describe('The policy version of the first answer. There is no default.'),
  origin: z
    .strictObject({
      system: text(1, 64).describe('The system that the record comes from.'),
      id: text(1, 255).describe('Its id there. With the system it identifies one record per account, permanently.'),
      evidence: text(1, 1024).optional().describe("The system's reference or proof."),
    })
    .describe('Makes a row an import.'),
  file_sha256: FileDigest.describe('Of the file that the row was read from.'),
  given_at: PastInstant.describe(
    'When the person answered, from 1990 until now. A finer fraction than milliseconds is cut off.',
  ),
  changes: z.array(ImportedChange, 'must be a list').optional().describe("The person's later answers, oldest first."),
}).superRefine(({ given_at, changes }, context) => {
  if (!changes) return
  let before = parseInstant(given_at) ?? 0
  for (const [index, change] of changes.entries()) {
    const at = parseInstant(change.given_at) ?? 0
    if (at < before)
      context.addIssue({
        code: 'custom',
        path: ['changes', index, 'given_at'],
        message: 'must not be before the answer before',
      })
    before = at
  }
})
export type ImportRow = z.output<typeof ImportRow>

export function isImportRow(row: unknown): boolean {
  return Object(row).origin !== undefined
}
