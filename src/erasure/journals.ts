import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Context } from '../context.ts'
import { type Journals, journalsOf } from '../jobs/journals.ts'
import type { Run } from '../jobs/runs.ts'
import { elsewhere } from '../settings/begun.ts'
import { apply } from './apply.ts'
import { type Event, Header, type Job, newJob } from './job.ts'

export function eraseJournals({
  settings,
  host,
}: Pick<Context, 'settings' | 'host'>): Journals<Header, Event> {
  return journalsOf<Header, Event>({
    folder: join(settings.stateFolder, 'erasures'),
    header: Header,
    host,
    elsewhere: header => elsewhere(settings, header, commandOf(header)),
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

/** Milliseconds after which nobody is still about to begin a job. */
const stale = 60_000

/** Removes what processes left that were killed while they began a job: there is a person in it. */
export async function sweep({ settings }: Pick<Context, 'settings'>): Promise<void> {
  const folder = join(settings.stateFolder, 'erasures')
  for (const name of await readdir(folder).catch(() => [])) {
    if (/^[\da-f-]{36}\.\d+$/.test(name)) continue
    const at = (await stat(join(folder, name)).catch(() => null))?.mtimeMs ?? 0
    if (Date.now() - at > stale) await rm(join(folder, name), { force: true })
  }
}

/** The jobs of the profile that no receipt ends yet, and nobody works on. */
export async function unfinishedJobs(ctx: Pick<Context, 'settings' | 'host'>): Promise<Header[]> {
  const journals = eraseJournals(ctx)
  const jobs = new Set<string>()
  for (const name of await readdir(join(ctx.settings.stateFolder, 'erasures')).catch(() => []))
    if (/^[\da-f-]{36}\.\d+$/.test(name)) jobs.add(name.slice(0, 36))
  const headers: Header[] = []
  for (const job of jobs) {
    const header = await journals
      .find(job)
      .then(run => journals.readIdle(run))
      .catch(() => null) // somebody is at it, or has just ended it
    if (header?.profile === ctx.settings.profile.value) headers.push(header)
  }
  return headers
}

/** What a job had come to when a run of it ended. */
export async function readJob(journals: Journals<Header, Event>, run: Run): Promise<Job> {
  const job = newJob(await journals.readIdle(run))
  for await (const event of journals.before(run)) apply(job, event)
  for await (const event of journals.since(run)) apply(job, event)
  return job
}
