import { basename, dirname, join, resolve } from 'node:path'
import type { Context } from '../../../context.ts'
import { CliError } from '../../../errors/errors.ts'
import { lineJobs } from '../bulk/job.ts'

export function preparedFolder({ stateFolder }: Context['settings']): string {
  return resolve(stateFolder, 'imports')
}

/** The state folder may have been moved or linked. */
export function preparedPath(settings: Context['settings'], file: string): string {
  return join(preparedFolder(settings), basename(dirname(file)), basename(file))
}

/** Null if a job's header cannot be read. */
export async function preparedInUse(ctx: Context): Promise<string[] | null> {
  const jobs = lineJobs(ctx, 'import')
  const headers = await Promise.all((await jobs.list()).map(job => jobs.peekHeader(job).catch(ifGone)))
  if (headers.includes('unreadable')) return null
  return headers.flatMap(header => (typeof header === 'object' && header.command === 'import' ? [header.file] : []))
}

/** A job that ended meanwhile needs no rows. */
function ifGone(error: unknown): 'gone' | 'unreadable' {
  return error instanceof CliError && error.code === 'busy' ? 'gone' : 'unreadable'
}
