import { basename, dirname, join, resolve } from 'node:path'
import type { Context } from '../../../context.ts'
import { importJobs } from '../bulk/job.ts'

export function preparedFolder({ stateFolder }: Context['settings']): string {
  return resolve(stateFolder, 'imports')
}

/** The stored path may be outdated: the state folder can be moved or linked. */
export function preparedPath(settings: Context['settings'], file: string): string {
  return join(preparedFolder(settings), basename(dirname(file)), basename(file))
}

export async function preparedInUse(ctx: Context): Promise<string[]> {
  const jobs = importJobs(ctx, 'import')
  // A job that another process ends meanwhile needs no rows.
  const headers = await Promise.all((await jobs.list()).map(job => jobs.peekHeader(job).catch(() => null)))
  return headers.flatMap(header => (header?.command === 'import' ? [header.file] : []))
}
