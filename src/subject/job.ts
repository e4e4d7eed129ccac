import { join } from 'node:path'
import * as z from 'zod'
import type { Context } from '../context.ts'
import type { ErasedRecord } from '../contract/documents/erasure-receipt.ts'
import { type Journal, type Journals, journalsOf } from '../journal/journals.ts'
import type { Run } from '../journal/runs.ts'

/** What a job is about: all that its receipt says, but for what became of the records. It is for its owner alone. */
const Header = z.object({
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
  pid: z.number(),
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
 * service's own erasure is about to be sent, b: its answer; c: by how many seconds the clock here is ahead.
 */
export type Event =
  | readonly ['p', target: Target]
  | readonly ['P']
  | readonly ['s', id: string]
  | readonly ['d', record: ErasedRecord]
  | readonly ['f', id: string, code: string, maybeDone: boolean]
  | readonly ['B']
  | readonly ['b', answer: BulkAnswer]
  | readonly ['c', seconds: number]

export type EraseJournal = Journal<Header, Event>

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
  return { header, ...empty, isPlanned: false, lostAnswers: 0, clockOffset: null }
}

/** Whether a record's deletion may have been carried out without anybody knowing. */
export function isOpen({ sent, lost }: Job, id: string): boolean {
  return sent.has(id) || lost.has(id)
}

/** Takes an event into account. */
export function apply(job: Job, event: Event): void {
  switch (event[0]) {
    case 'p':
      job.targets.set(event[1].id, event[1])
      break
    case 'P':
      job.isPlanned = true
      break
    case 's':
      if (job.sent.has(event[1])) job.lost.add(event[1]) // what was sent before was never heard of again
      job.sent.add(event[1])
      break
    case 'd':
      job.done.set(event[1].id, event[1])
      break
    case 'f':
      if (event[3]) job.lost.add(event[1])
      job.sent.delete(event[1])
      break
    case 'B':
      job.lostAnswers += 1
      break
    case 'b':
      job.lostAnswers -= 1
      job.answers.push(event[1])
      break
    case 'c':
      job.clockOffset = event[1]
  }
}

export function eraseJournals({
  settings,
  host,
}: Pick<Context, 'settings' | 'host'>): Journals<Header, Event> {
  return journalsOf<Header, Event>({
    folder: join(settings.stateFolder, 'erasures'),
    header: Header,
    host,
    hints: {
      damaged: 'consentctl subject find shows what is left; consentctl subject erase erases it',
      unwritable: 'CONSENTCTL_STATE_DIR names a folder that can be written',
    },
  })
}

/** What a job had come to when a run of it ended. */
export async function readJob(journals: Journals<Header, Event>, run: Run): Promise<Job> {
  const job = newJob(await journals.readIdle(run))
  for await (const event of journals.before(run)) apply(job, event)
  for await (const event of journals.since(run)) apply(job, event)
  return job
}
