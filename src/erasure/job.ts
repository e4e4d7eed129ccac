import { join } from 'node:path'
import * as z from 'zod'
import type { Context } from '../context.ts'
import { type HeldJob, type Jobs, jobsOf } from '../jobs/jobs.ts'
import { commandForOrigin } from '../settings/settings.ts'
import type { Target } from './records.ts'
import { apply, type ErasureEvent, type ErasureState, newState } from './state.ts'

/**
 * Everything that a receipt needs except the outcome. It names the subjects in clear, so only its owner may read the
 * file.
 */
export const ErasureHeader = z.object({
  version: z.literal(1),
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
  /** `subject`: by the service's own erasure; `record`: one by one. */
  deletes_by: z.enum(['subject', 'record']),
  /** Null if the instance did not say. */
  account_id: z.string().nullable(),
  /** Date from the register of requests; null to compute it. */
  due_at: z.string().nullable(),
  /** Id in the register of requests, which gets the receipt's digest. */
  request_id: z.string().nullable(),
  /** Id of the batch that the job is part of. */
  batch: z.string().optional(),
})
export type ErasureHeader = z.output<typeof ErasureHeader>

export type JobState = ErasureState<ErasureHeader>

export interface RunningJob {
  readonly ctx: Context
  readonly state: JobState
  readonly held: HeldJob<ErasureHeader, ErasureEvent>
}

/** Writes to disk first, so that a killed process loses nothing it acted on. */
export async function record({ state, held }: RunningJob, event: ErasureEvent): Promise<void> {
  await held.append(event)
  apply(state, event)
}

/** Deletion starts only after `P`; a job killed before it is discarded. */
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

export function resumeCommandOf({ job }: Pick<ErasureHeader, 'job'>): string {
  return `consentctl subject resume ${job}`
}

/** Returns the profile's jobs without a receipt that no process holds. */
export async function unfinishedJobs(ctx: Pick<Context, 'settings' | 'host'>): Promise<ErasureHeader[]> {
  const jobs = erasureJobs(ctx)
  const headers: ErasureHeader[] = []
  for (const job of await jobs.list()) {
    const header = await jobs.readHeader(job).catch(() => null) // another process holds or has just finished it
    if (header?.profile === ctx.settings.profile.value) headers.push(header)
  }
  return headers
}

export async function readState(held: RunningJob['held']): Promise<JobState> {
  const state = newState(held.header)
  for (const run of held.earlierRuns) for await (const event of run()) apply(state, event)
  return state
}
