import { basename, dirname, join, resolve } from 'node:path'
import type { Context } from '../../../context.ts'
import { CliError } from '../../../errors/errors.ts'
import { lineJobs } from '../bulk/job.ts'

export function preparedFolder({ stateFolder }: Context['settings']): string {
  return resolve(stateFolder, 'imports')
}

/** The stored path may be outdated: the state folder can be moved or linked. */
export function preparedPath(settings: Context['settings'], file: string): string {
  return join(preparedFolder(settings), basename(dirname(file)), basename(file))
}

/** Returns the prepared rows that jobs need; null if the header of one cannot be read. */
export async function preparedInUse(ctx: Context): Promise<string[] | null> {
  const jobs = lineJobs(ctx, 'import')
  const headers = await Promise.all((await jobs.list()).map(job => jobs.peekHeader(job).catch(ifGone)))
  if (headers.includes('unreadable')) return null
  return headers.flatMap(header => (typeof header === 'object' && header.command === 'import' ? [header.file] : []))
}

/** A job that another process ends meanwhile needs no rows. */
function ifGone(error: unknown): 'gone' | 'unreadable' {
  return error instanceof CliError && error.code === 'busy' ? 'gone' : 'unreadable'
}
