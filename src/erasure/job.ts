import * as z from 'zod'
import type { ErasedRecord } from '../contract/documents/erasure-receipt.ts'
import type { HeldJob } from '../jobs/jobs.ts'

/** What a job is about: all that its receipt says, but for what became of the records. It is for its owner alone. */
export const Header = z.object({
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
  /** Whether the number or the plan itself was given: then nothing but the planned records may go. */
  is_exact: z.boolean(),
  /** What the service itself counted, where there is no plan. */
  counted: z.array(z.object({ site_id: z.string().nullable(), records: z.number() })).nullable(),
})
export type Header = z.output<typeof Header>

export type Target = Pick<ErasedRecord, 'id' | 'site_id'>

/** What a call of the service's own erasure answered. */
export interface BulkAnswer {
  readonly sites: readonly { readonly site_id: string; readonly records: number }[]
  readonly certificate: string | null
  readonly request_id: string | null
}

/**
 * p: a record of the plan; P: the plan is whole, and deleting may begin; s: a record is about to be deleted; d: what
 * became of it; f: it failed with this code, and whether it may have been carried out all the same; B: a call of the
 * service's own erasure is about to be sent, b: its answer, F: it failed, and whether it may have been carried out; e: the
 * service has erased all that was left; c: by how many seconds the clock here is ahead.
 */
export type Event =
  | readonly ['p', target: Target]
  | readonly ['P']
  | readonly ['s', id: string]
  | readonly ['d', record: ErasedRecord]
  | readonly ['f', id: string, code: string, maybeDone: boolean]
  | readonly ['B']
  | readonly ['b', answer: BulkAnswer]
  | readonly ['F', maybeDone: boolean]
  | readonly ['e']
  | readonly ['c', seconds: number]

export type EraseJournal = HeldJob<Header, Event>

/** What a job has come to. */
export interface Job {
  readonly header: Header
  readonly targets: Map<string, Target>
  /** Whether nothing of the plan is missing in the journal. */
  isPlanned: boolean
  /** Records whose deletion was about to be sent, with nothing known of it since. */
  readonly sent: Set<string>
  /** Records whose deletion failed, or was never heard of again, and may have been carried out. */
  readonly lost: Set<string>
  readonly done: Map<string, ErasedRecord>
  readonly answers: BulkAnswer[]
  /** Calls of the service's own erasure whose answers are not known. */
  lostAnswers: number
  /** Whether the service has erased all that was left. */
  isErased: boolean
  clockOffset: number | null
}

export function newJob(header: Header): Job {
  const empty = {
    targets: new Map(),
    sent: new Set<string>(),
    lost: new Set<string>(),
    done: new Map(),
    answers: [],
  }
  return { header, ...empty, isPlanned: false, isErased: false, lostAnswers: 0, clockOffset: null }
}

/** Whether a record's deletion may have been carried out without anybody knowing. */
export function isOpen({ sent, lost }: Job, id: string): boolean {
  return sent.has(id) || lost.has(id)
}
