import { join } from 'node:path'
import * as z from 'zod'
import type { Context } from '../context.ts'
import { type HeldJob, type Jobs, jobsOf } from '../jobs/jobs.ts'
import { commandForOrigin } from '../settings/settings.ts'
import type { Target } from './records.ts'
import { apply, type ErasureEvent, type ErasureState, newState } from './state.ts'

/** A receipt without its outcome. It has the identifiers in clear: only the owner may read the file. */
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
  /** `subject`: erased by the service; `record`: one by one. */
  deletes_by: z.enum(['subject', 'record']),
  /** Null if not known. */
  account_id: z.string().nullable(),
  /** From the register; null to compute it. */
  due_at: z.string().nullable(),
  /** In the register, which gets the receipt's digest. */
  request_id: z.string().nullable(),
  /** Of a file's batch. */
  batch: z.string().optional(),
})
export type ErasureHeader = z.output<typeof ErasureHeader>

export type JobState = ErasureState<ErasureHeader>

export interface RunningJob {
  readonly ctx: Context
  readonly state: JobState
  readonly held: HeldJob<ErasureHeader, ErasureEvent>
}

/** On disk before it is acted on. */
export async function record({ state, held }: RunningJob, event: ErasureEvent): Promise<void> {
  await held.append(event)
  apply(state, event)
}

/** Deletion starts after `P`; a job killed before is discarded. */
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

/** Without a receipt, and not held by a process. */
export async function unfinishedJobs(ctx: Pick<Context, 'settings' | 'host'>): Promise<ErasureHeader[]> {
  const jobs = erasureJobs(ctx)
  const headers: ErasureHeader[] = []
  for (const job of await jobs.list()) {
    const header = await jobs.readHeader(job).catch(() => null) // held by another process, or just finished
    if (header?.profile === ctx.settings.profile.value) headers.push(header)
  }
  return headers
}

export async function readState(held: RunningJob['held']): Promise<JobState> {
  const state = newState(held.header)
  for (const run of held.earlierRuns) for await (const event of run()) apply(state, event)
  return state
}
