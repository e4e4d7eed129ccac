import * as z from 'zod'
import { Instant, KeyId, Sha256 } from './fields.ts'

const Count = z.int().min(0)

const File = z.strictObject({
  sha256: Sha256,
  bytes: Count,
  lines: Count.describe('Without the header, empty lines and rows of empty cells.'),
})

/** Most combinations of site and policy version that a receipt names. */
export const policyVersionsLimit = 100

/** Reason of a line that was not asked for. */
export const notTold = 'not_told'

/** Without the signature. Has no identifier of a person. */
export const GateReceipt = z.strictObject({
  type: z.literal('gate_receipt'),
  version: z.literal(1),
  key_id: KeyId,
  instance: z.string().describe('The base URL of the service.'),
  account_id: z.string().nullable().describe('By the service; null if it does not tell.'),
  api_key_id: z
    .string()
    .nullable()
    .describe('The key that it was asked with, by the service; null if it does not tell.'),
  profile: z.string(),
  who: z.string().describe('The user of the operating system.'),
  host: z.string(),
  purpose: z.string().describe('What was asked for: a key of the preferences.'),
  site_id: z.string().nullable().describe('The only site that was asked for; null for every one that the key reaches.'),
  key_site_ids: z
    .array(z.string())
    .nullable()
    .describe('The sites that the key is restricted to, by the service; null for every site, or if unknown.'),
  at: Instant.nullable().describe('The past time that was asked for; null for the present.'),
  only_witnessed: z.boolean().describe('True if imported answers did not count.'),
  unknown: z
    .enum(['stop', 'allow'])
    .describe('What was done with lines of whom nothing is known: without a record, or without an answer.'),
  list: File.describe('What was read.'),
  allowed: File.describe('What was written, in the order of the list.'),
  stopped: File.describe('The other lines, in the order of the list, if they were written or not.'),
  reasons: z
    .array(z.strictObject({ reason: z.string(), allowed: z.boolean(), lines: z.int().min(1) }))
    .describe(
      `By the reason of the answer, in the order of its characters, each once. ${notTold}: the line could not be read or had no identifier, and was not asked for.`,
    ),
  near_matches: Count.describe(
    'Lines without a record of whom the service named near matches. They were treated as unknown.',
  ),
  policy_versions: z
    .array(z.strictObject({ site_id: z.string(), policy_version: z.int().min(1), lines: z.int().min(1) }))
    .nullable()
    .describe(
      `Those of the records that decided for the allowed lines, by site and version; null for more than ${policyVersionsLimit}.`,
    ),
  checkpoint: z
    .strictObject({ tree_size: z.int().min(1), root_hash: Sha256, created_at: Instant })
    .nullable()
    .describe(
      'The newest checkpoint of the log that the service returned before the first request; null if it returned none.',
    ),
  first_answer_at: Instant.nullable().describe('The earliest time that an answer is about; null without answers.'),
  last_answer_at: Instant.nullable(),
  created_at: Instant.describe('By the local clock.'),
  valid_until: Instant.describe('When the list is to be asked for again.'),
})
export type GateReceipt = z.output<typeof GateReceipt>

const unknownReasons: readonly string[] = ['no_record', 'purpose_not_answered']

/** True if a line with this reason may be written to. */
export function isAllowedBy(reason: string, unknown: GateReceipt['unknown']): boolean {
  return reason === 'consented' || (unknown === 'allow' && unknownReasons.includes(reason))
}

/** Completes "it is signed, but contradicts …"; null if all agrees. */
export function findGateContradiction(receipt: GateReceipt): string | null {
  const { list, allowed, stopped, reasons, near_matches, unknown, policy_versions } = receipt
  const sum = (isAllowed: boolean) =>
    reasons.filter(each => each.allowed === isAllowed).reduce((total, { lines }) => total + lines, 0)
  const isSum = sum(true) === allowed.lines && sum(false) === stopped.lines
  const isOnce = reasons.every(({ reason }, index) => index === 0 || (reasons[index - 1]?.reason ?? '') < reason)
  if (!isSum || !isOnce || list.lines !== allowed.lines + stopped.lines) return 'itself on its counts'
  if (!reasons.every(each => each.allowed === isAllowedBy(each.reason, unknown))) return 'itself on who is allowed'
  const without = reasons.find(({ reason }) => reason === 'no_record')?.lines ?? 0
  if (near_matches > without) return 'itself on its near matches'
  const decided = policy_versions?.reduce((total, { lines }) => total + lines, 0) ?? 0
  if (decided > allowed.lines) return 'itself on its policy versions'
  return receipt.created_at < receipt.valid_until ? null : 'itself on its times'
}
