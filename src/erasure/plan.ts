import { readFile } from 'node:fs/promises'
import * as z from 'zod'
import type { Consent } from '../contract/index.ts'
import { text } from '../contract/values.ts'
import { CliError, dataError, exit, usageError } from '../errors/errors.ts'
import { sha256 } from './receipts.ts'

/** A record as it was when the plan was made. */
const PlannedRecord = z.strictObject({
  id: z.string(),
  site_id: z.string().nullable(),
  updated_at: z.string().nullable(),
  /** Of the record as JSON without spaces, the keys of every object in order. */
  sha256: z.string(),
})
export type PlannedRecord = z.output<typeof PlannedRecord>

/** What is to be erased, for one person to make and another to carry out. It names the subject in clear. */
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
  records: z.array(PlannedRecord),
})
export type Plan = z.output<typeof Plan>

/** A plan and the digest of its file. */
export interface KnownPlan {
  readonly plan: Plan
  readonly text: string
  readonly sha256: string
}

export function makePlan(
  about: Omit<Plan, 'type' | 'version' | 'records'>,
  records: readonly Consent[],
): KnownPlan {
  const plan: Plan = { type: 'erasure_plan', version: 1, ...about, records: records.map(planned) }
  const [head, ...rows] = [{ ...plan, records: [] }, ...plan.records].map(part => JSON.stringify(part))
  const lines = rows.length > 0 ? `\n${rows.join(',\n')}\n` : ''
  const whole = `${head?.slice(0, -2)}${lines}]}\n`
  return { plan, text: whole, sha256: sha256(whole) }
}

/** Throws a usage error where there is no file, and a data error where it is no plan. */
export async function readPlan(path: string): Promise<KnownPlan> {
  const bytes = await readFile(path).catch((error: NodeJS.ErrnoException) => {
    throw usageError(
      error.code === 'ENOENT' ? `there is no file ${path}` : `${path} cannot be read: ${error.code}`,
    )
  })
  const parsed = Plan.safeParse(parse(bytes.toString('utf8')))
  if (parsed.success) return { plan: parsed.data, text: bytes.toString('utf8'), sha256: sha256(bytes) }
  const issue = parsed.error.issues[0]
  throw dataError(
    `${path} is no plan of an erasure (${issue?.path.join('.') || 'whole file'}: ${issue?.message})`,
  )
}

/** Throws where the records are not exactly those of the plan, as they were then (exit 10). */
export function requireAsPlanned({ records }: Pick<Plan, 'records'>, present: readonly Consent[]): void {
  const now = new Map(present.map(record => [record.id, planned(record)]))
  const then = new Map(records.map(record => [record.id, record]))
  const gone = records.filter(({ id }) => !now.has(id))
  const changed = records.filter(({ id, sha256: digest }) => now.has(id) && now.get(id)?.sha256 !== digest)
  const added = present.filter(({ id }) => !then.has(id))
  const differences = [tell(changed, 'changed'), tell(added, 'added'), tell(gone, 'gone')].filter(Boolean)
  if (differences.length === 0) return
  throw new CliError(
    'changed',
    exit.changed,
    `since it was planned: ${differences.join('; ')}; nothing was done`,
    {
      hint: 'look at what is there now, and make a new plan',
    },
  )
}

function tell(records: readonly { readonly id: string }[], what: string): string {
  const ids = records.slice(0, 3).map(({ id }) => id)
  const more = records.length > 3 ? ', …' : ''
  return records.length > 0 ? `${records.length} ${what} (${ids.join(', ')}${more})` : ''
}

function planned(record: Consent): PlannedRecord {
  const { id, site_id, updated_at } = record
  return { id, site_id, updated_at, sha256: digestOf(record) }
}

/** Not as RFC 8785 has it, which knows no form for the halves of characters that another instance may hold. */
function digestOf(record: Consent): string {
  const sorted = (_: string, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value
  return sha256(JSON.stringify(record, sorted))
}

function parse(content: string): unknown {
  try {
    return JSON.parse(content)
  } catch {
    return undefined
  }
}
