import { join } from 'node:path'
import * as z from 'zod'
import type { Context } from '../context.ts'
import { type HeldJob, type Jobs, jobsOf } from '../jobs/jobs.ts'
import { commandForOrigin } from '../settings/settings.ts'
import type { Target } from './records.ts'
import { apply, type ErasureEvent, type ErasureState, newState } from './state.ts'

/** Everything that a receipt says but the outcome. Names the subjects in clear, for the file's owner alone. */
export const ErasureHeader = z.object({
  version: z.literal(2),
  job: z.string(),
  profile: z.string(),
  base_url: z.string(),
  subjects: z.array(z.string()).min(1),
  ticket: z.string(),
  reason: z.string().nullable(),
  received_at: z.string().nullable(),
  shows_subject: z.boolean(),
  started_at: z.string(),
  who: z.string(),
  host: z.string(),
  planned_by: z.object({ who: z.string(), host: z.string(), created_at: z.string() }).nullable(),
  plan_sha256: z.string().nullable(),
  export_sha256: z.string().nullable(),
  /** By the service's own erasure (`subject`), or one by one (`record`). */
  deletes_by: z.enum(['subject', 'record']),
  /** Null if the instance does not say, or by an earlier version. */
  account_id: z.string().nullable().default(null),
  /** By the register of requests; null to compute it. */
  due_at: z.string().nullable().default(null),
  /** The request in the register, which gets the receipt's digest. */
  request_id: z.string().nullable().default(null),
  /** The job of the file that it is a part of. */
  batch: z.string().optional(),
})
export type ErasureHeader = z.output<typeof ErasureHeader>

export type JobState = ErasureState<ErasureHeader>

export interface RunningJob {
  readonly ctx: Context
  readonly state: JobState
  readonly held: HeldJob<ErasureHeader, ErasureEvent>
}

/** Writes an event to the disk before it applies it: nothing follows from what a killed process would forget. */
export async function record({ state, held }: RunningJob, event: ErasureEvent): Promise<void> {
  await held.append(event)
  apply(state, event)
}

/** Until the plan is whole, nothing may be deleted, and a killed job is forgotten. */
export async function recordPlan(job: RunningJob, targets: readonly Target[]): Promise<void> {
  await Promise.all(targets.map(target => record(job, ['p', target])))
  await record(job, ['P'])
}

export function erasureJobs({ settings, host }: Pick<Context, 'settings' | 'host'>): Jobs<ErasureHeader, ErasureEvent> {
  return jobsOf<ErasureHeader, ErasureEvent>({
    folder: join(settings.stateFolder, 'erasures'),
    header: ErasureHeader,
    host,
    elsewhere: header => commandForOrigin(settings, header, resumeCommandOf(header)),
    hints: {
      damaged: 'consentctl subject find shows what is left; consentctl subject erase erases it',
      unwritable: 'set CONSENTCTL_STATE_DIR to a folder that can be written',
    },
  })
}

/** Resumes a job with the profile and instance it was begun with. */
export function resumeCommandOf({ job }: Pick<ErasureHeader, 'job'>): string {
  return `consentctl subject resume ${job}`
}

/** Returns the profile's jobs without a receipt that no process holds. */
export async function unfinishedJobs(ctx: Pick<Context, 'settings' | 'host'>): Promise<ErasureHeader[]> {
  const jobs = erasureJobs(ctx)
  const headers: ErasureHeader[] = []
  for (const job of await jobs.list()) {
    const header = await jobs.readHeader(job).catch(() => null) // another process holds it, or has just finished it
    if (header?.profile === ctx.settings.profile.value) headers.push(header)
  }
  return headers
}

export async function readState(held: RunningJob['held']): Promise<JobState> {
  const state = newState(held.header)
  for await (const event of held.earlierEvents()) apply(state, event)
  return state
}
