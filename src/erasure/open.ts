import type { Context } from '../context.ts'
import { apply } from './apply.ts'
import type { EraseJournal, Event, Job } from './job.ts'

/** A job and its journal: every event is on the disk before anything follows from it. */
export interface OpenJob {
  readonly ctx: Context
  readonly job: Job
  readonly journal: EraseJournal
}

export async function note({ job, journal }: Pick<OpenJob, 'job' | 'journal'>, event: Event): Promise<void> {
  await journal.append(event)
  apply(job, event)
}
