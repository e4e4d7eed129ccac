import { join } from 'node:path'
import * as z from 'zod'
import type { Context } from '../context.ts'
import type { ErasedRecord } from '../contract/documents/erasure-receipt.ts'
import { type HeldJob, type Jobs, jobsOf } from '../jobs/jobs.ts'
import { commandForOrigin } from '../settings/settings.ts'
import type { Target } from './records.ts'

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

/** A response of the service's own erasure. */
export interface ServiceAnswer {
  readonly certificate: string | null
  /** True if an earlier attempt of the call may have been carried out. */
  readonly isLost: boolean
  readonly records: readonly ErasedRecord[]
  /** Records of the call that it neither deleted nor found absent. */
  readonly untold: readonly string[]
}

/**
 * Write-ahead entries. p: a planned record. P: the plan is complete, deleting may begin. s: these records are about to be
 * deleted. d: the outcome of one. a: the service's answer for several. f: their deletion failed with this code, and may
 * have been carried out. c: seconds by which the local clock is ahead.
 */
export type ErasureEvent =
  | readonly ['p', target: Target]
  | readonly ['P']
  | readonly ['s', ids: readonly string[]]
  | readonly ['d', record: ErasedRecord]
  | readonly ['a', answer: ServiceAnswer]
  | readonly ['f', ids: readonly string[], code: string, maybeDone: boolean]
  | readonly ['c', seconds: number]

export interface ErasureState {
  readonly header: ErasureHeader
  readonly targets: Map<string, Target>
  isPlanned: boolean
  /** Records whose deletion was about to be sent, without an outcome yet. */
  readonly sent: Set<string>
  /** Records whose deletion may have been carried out although it failed or was never answered. */
  readonly lost: Set<string>
  readonly done: Map<string, ErasedRecord>
  readonly certificates: string[]
  /** Calls of the service's own erasure whose answer, and so certificate, was lost. */
  lostAnswers: number
  clockOffset: number | null
}

export function newState(header: ErasureHeader): ErasureState {
  return {
    header,
    targets: new Map(),
    isPlanned: false,
    sent: new Set(),
    lost: new Set(),
    done: new Map(),
    certificates: [],
    lostAnswers: 0,
    clockOffset: null,
  }
}

export function apply(state: ErasureState, event: ErasureEvent): void {
  const isBySubject = state.header.deletes_by === 'subject'
  switch (event[0]) {
    case 'p':
      state.targets.set(event[1].id, event[1])
      break
    case 'P':
      state.isPlanned = true
      break
    case 's':
      for (const id of event[1]) {
        if (state.sent.has(id)) state.lost.add(id) // an earlier run was killed before it knew the outcome
        state.sent.add(id)
      }
      if (isBySubject) state.lostAnswers += 1
      break
    case 'd':
      state.done.set(event[1].id, event[1])
      break
    case 'a':
      applyAnswer(state, event[1])
      break
    case 'f':
      for (const id of event[1]) forgetSent(state, id, event[3])
      if (isBySubject && !event[3]) state.lostAnswers -= 1
      break
    case 'c':
      state.clockOffset = event[1]
  }
}

function applyAnswer(state: ErasureState, { certificate, isLost, records, untold }: ServiceAnswer): void {
  for (const record of records) state.done.set(record.id, record)
  for (const id of untold) forgetSent(state, id, isLost)
  if (certificate !== null) state.certificates.push(certificate)
  if (!isLost) state.lostAnswers -= 1
}

function forgetSent({ sent, lost }: ErasureState, id: string, maybeDone: boolean): void {
  sent.delete(id)
  if (maybeDone) lost.add(id)
}

export function mayBeDeleted({ sent, lost }: ErasureState, id: string): boolean {
  return sent.has(id) || lost.has(id)
}

export interface RunningJob {
  readonly ctx: Context
  readonly state: ErasureState
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

export async function readState(held: RunningJob['held']): Promise<ErasureState> {
  const state = newState(held.header)
  for await (const event of held.earlierEvents()) apply(state, event)
  return state
}
