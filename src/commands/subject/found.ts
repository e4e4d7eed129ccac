import { randomUUID } from 'node:crypto'
import { quoteForShell } from '../../cli/messages.ts'
import type { Context } from '../../context.ts'
import type { Consent, DataSubjectRequest } from '../../contract/index.ts'
import { marksErased } from '../../erasure/by-subject.ts'
import type { ExportFiles } from '../../erasure/export.ts'
import type { ErasureHeader } from '../../erasure/job.ts'
import { findNearMatches, type NearMatch } from '../../erasure/near.ts'
import { type PlanFile, requireAsPlanned, toPlanned } from '../../erasure/plan.ts'
import { askForErasable, erasesSubjects, liveRecords, type Target, toTargets } from '../../erasure/records.ts'
import type { ErasureRequest, SubjectRequest } from '../../erasure/request.ts'
import { exit, usageError } from '../../errors/errors.ts'
import { exitOf } from '../../errors/explain.ts'
import { type IdentifiedKey, requireScope } from '../../receipts/signer.ts'
import { type Asked, adviceToInclude, tellNearMatches } from './near.ts'
import { quotaError } from './run.ts'

export interface Order {
  readonly asked: SubjectRequest
  readonly given: PlanFile | null
  readonly files: ExportFiles | null
  /** Of a file. */
  readonly isLine?: boolean
}

export interface Found {
  /** Null if the quota is used up: the service's own erasure returns only ids. */
  readonly records: readonly Consent[] | null
  readonly targets: readonly Target[]
  readonly deletes_by: ErasureHeader['deletes_by']
  /** Never erased. */
  readonly near: readonly NearMatch[]
}

/**
 * @throws CliError `quota_exceeded` (exit 6) if the records are needed, or the service cannot list their ids; `changed`
 * (exit 10) if they differ from the plan
 */
export async function findRecords(ctx: Context, { asked, given, files, isLine = false }: Order): Promise<Found> {
  const { subjects } = asked
  const deletes_by = (await erasesSubjects(ctx.api)) ? 'subject' : 'record'
  const near = await warnOfNear(ctx, { ...asked, isLine })
  try {
    const records = await liveRecords(ctx.api, subjects)
    if (given) requireAsPlanned(given.plan.records, records.map(toPlanned))
    return { records, targets: toTargets(subjects, records), deletes_by, near }
  } catch (error) {
    if (exitOf(error) !== exit.quota) throw error
    if (given || files || deletes_by === 'record') throw quotaError(error)
    await ctx.say('the quota is used up: erasing on the server instead (not limited)')
    return { records: null, targets: (await askForErasable(ctx.api, subjects)).live, deletes_by, near }
  }
}

/** @throws CliError `forbidden` (exit 4) */
export async function requireEraseScope(ctx: Context, key: IdentifiedKey, found: readonly Found[]): Promise<void> {
  for (const { targets, deletes_by } of found)
    if (targets.length > 0 || (await marksErased(ctx.api, deletes_by))) requireScope(ctx, key, 'erase')
}

export async function warnOfNear(ctx: Context, asked: Asked): Promise<NearMatch[]> {
  const near = (await findNearMatches(ctx.api, asked.subjects)) ?? []
  await tellNearMatches(ctx, near, ids => adviceToInclude(ctx, asked, ids))
  return near
}

/** @throws CliError (usage) unless an erasure would answer the request */
export function toSubjectRequest(
  { id, ticket, kind, received_on, due_on }: DataSubjectRequest,
  subjects: readonly string[],
  reason: string | null,
): SubjectRequest {
  if (kind === 'access' || kind === 'rectification')
    throw usageError(
      `${ticket} is a request for ${kind}, not for erasure`,
      `if it is for both: consentctl requests update ${quoteForShell(ticket)} --kind erasure`,
    )
  return { subjects, ticket, reason, received_at: received_on, due_at: due_on, request_id: id }
}

export function toPlanner({ plan: { who, host, created_at } }: PlanFile): ErasureHeader['planned_by'] {
  return { who, host, created_at }
}

export function toHeader(
  request: ErasureRequest,
  { deletes_by }: Found,
  origin: Pick<ErasureHeader, 'planned_by' | 'plan_sha256' | 'export_sha256'>,
): ErasureHeader {
  const { profile, instance, subjects, ticket, reason, received_at, shows_subject, who, host, account_id } = request
  const { due_at = null, request_id = null } = request
  return {
    version: 1,
    job: randomUUID(),
    profile,
    base_url: instance,
    subjects: [...subjects],
    ticket,
    reason,
    received_at,
    shows_subject,
    started_at: new Date().toISOString(),
    who,
    host,
    ...origin,
    deletes_by,
    account_id,
    due_at,
    request_id,
  }
}
