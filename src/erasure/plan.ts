import * as z from 'zod'
import type { Consent } from '../contract/index.ts'
import { text } from '../contract/values.ts'
import { CliError, dataError, exit } from '../errors/errors.ts'
import type { Operator } from '../receipts/signer.ts'
import { sha256 } from '../receipts/store.ts'
import type { SubjectRequest } from './job.ts'
import { readOperand } from './receipts.ts'
import { describeDifferences, sortedJson } from './records.ts'

const PlannedRecord = z.strictObject({
  id: z.string(),
  site_id: z.string().nullable(),
  updated_at: z.string().nullable(),
  /** SHA-256 of the record's `sortedJson`. */
  sha256: z.string(),
})
export type PlannedRecord = z.output<typeof PlannedRecord>

/** Contains the identifiers in clear text. */
export const Plan = z.strictObject({
  type: z.literal('erasure_plan'),
  version: z.literal(1),
  created_at: z.iso.datetime(),
  instance: z.string(),
  who: z.string(),
  host: z.string(),
  subjects: z.array(text(1, 255)).min(1),
  ticket: text(1, 100),
  reason: text(1, 500).nullable(),
  received_at: z.iso.date().nullable(),
  due_at: z.iso.date().optional(),
  request_id: z.string().optional(),
  records: z.array(PlannedRecord),
})
export type Plan = z.output<typeof Plan>

export interface PlanFile {
  readonly plan: Plan
  readonly text: string
  readonly sha256: string
}

export function makePlan(
  { subjects, ticket, reason, received_at, due_at, request_id }: SubjectRequest,
  by: Operator & { readonly instance: string },
  records: readonly Consent[],
): PlanFile {
  const plan: Plan = {
    type: 'erasure_plan',
    version: 1,
    created_at: new Date().toISOString(),
    instance: by.instance,
    who: by.who,
    host: by.host,
    subjects: [...subjects],
    ticket,
    reason,
    received_at,
    ...(due_at && { due_at }),
    ...(request_id && { request_id }),
    records: records.map(toPlanned),
  }
  const [head, ...rows] = [{ ...plan, records: [] }, ...plan.records].map(part => JSON.stringify(part))
  const lines = rows.length > 0 ? `\n${rows.join(',\n')}\n` : ''
  const whole = `${head?.slice(0, -2)}${lines}]}\n`
  return { plan, text: whole, sha256: sha256(whole) }
}

/** @throws CliError usage (exit 2) if unreadable; invalid_data (exit 5) if not a plan */
export async function readPlan(path: string): Promise<PlanFile> {
  const bytes = await readOperand(path)
  const content = bytes.toString('utf8')
  const parsed = Plan.safeParse(parseJson(content))
  if (parsed.success) return { plan: parsed.data, text: content, sha256: sha256(bytes) }
  const issue = parsed.error.issues[0]
  const where = issue?.path.join('.') || 'whole file'
  throw dataError(`${path} is not an erasure plan (${where}: ${issue?.message})`)
}

type Known = Pick<PlannedRecord, 'id'> & Partial<Pick<PlannedRecord, 'sha256'>>

/** @throws CliError changed (exit 10) */
export function requireAsPlanned(planned: readonly Known[], present: readonly Known[]): void {
  const differences = describeDifferences(planned, present, ({ sha256: digest }) => digest)
  if (differences === '') return
  const message = `records differ from the plan: ${differences}; nothing was done`
  throw new CliError('changed', exit.changed, message, { hint: 'check the records, and make a new plan' })
}

export function toPlanned(record: Consent): PlannedRecord {
  const { id, site_id, updated_at } = record
  return { id, site_id, updated_at, sha256: sha256(sortedJson(record)) }
}

function parseJson(content: string): unknown {
  try {
    return JSON.parse(content)
  } catch {
    return undefined
  }
}
