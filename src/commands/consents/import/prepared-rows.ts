import { basename, dirname, join, resolve } from 'node:path'
import type { Context } from '../../../context.ts'
import { importJobs } from '../bulk/job.ts'

/** Paths of the rows of foreign files until they are sent. */
export function preparedFolder({ stateFolder }: Context['settings']): string {
  return resolve(stateFolder, 'imports')
}

/** Returns where the rows of a job are now: the state folder may have been moved, or the job has its path through a link. */
export function preparedPath(settings: Context['settings'], file: string): string {
  return join(preparedFolder(settings), basename(dirname(file)), basename(file))
}

/** Returns the paths of the prepared rows that jobs still need. */
export async function preparedInUse(ctx: Context): Promise<string[]> {
  const jobs = importJobs(ctx, 'import')
  // One that another process ends meanwhile needs none.
  const headers = await Promise.all((await jobs.list()).map(job => jobs.peekHeader(job).catch(() => null)))
  return headers.flatMap(header => (header?.command === 'import' ? [header.file] : []))
}
