import { join } from 'node:path'
import type { Context } from '../context.ts'
import { type Jobs, jobsOf } from '../jobs/jobs.ts'
import { commandForOrigin } from '../settings/job-origin.ts'
import { apply } from './apply.ts'
import { type EraseJournal, type Event, Header, type Job, newJob } from './job.ts'

export function eraseJournals({ settings, host }: Pick<Context, 'settings' | 'host'>): Jobs<Header, Event> {
  return jobsOf<Header, Event>({
    folder: join(settings.stateFolder, 'erasures'),
    header: Header,
    host,
    elsewhere: header => commandForOrigin(settings, header, commandOf(header)),
    hints: {
      damaged: 'consentctl subject find shows what is left; consentctl subject erase erases it',
      unwritable: 'CONSENTCTL_STATE_DIR names a folder that can be written',
    },
  })
}

/** The command that goes on with a job, where it was begun. */
export function commandOf({ job }: Header): string {
  return `consentctl subject resume ${job}`
}

/** The jobs of the profile that no receipt ends yet, and nobody works on. */
export async function unfinishedJobs(ctx: Pick<Context, 'settings' | 'host'>): Promise<Header[]> {
  const journals = eraseJournals(ctx)
  const headers: Header[] = []
  for (const job of await journals.list()) {
    const header = await journals.readHeader(job).catch(() => null) // somebody is at it, or has just ended it
    if (header?.profile === ctx.settings.profile.value) headers.push(header)
  }
  return headers
}

/** What a job had come to when its last run ended. */
export async function readJob(journal: EraseJournal): Promise<Job> {
  const job = newJob(journal.header)
  for await (const event of journal.earlierEvents()) apply(job, event)
  return job
}
