import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { usageError } from '../errors/errors.ts'

/** A run of a job: its journal is `<job>.<run>`, and takes the place of those of the runs before it. */
export interface Run {
  readonly folder: string
  /** The job's UUID. */
  readonly job: string
  /** From 1. */
  readonly run: number
}

export function pathOf({ folder, job, run }: Run): string {
  return join(folder, `${job}.${run}`)
}

/** The last run of a job in a folder, by the job's id or `last`. Throws a usage error where there is none. */
export async function findRun(folder: string, wanted: string): Promise<Run> {
  const found: (Run & { at: number })[] = []
  for (const name of await readdir(folder).catch(() => [])) {
    const [, job = '', run] = /^([\da-f-]{36})\.(\d+)$/.exec(name) ?? []
    if (run === undefined || (wanted !== 'last' && wanted !== job)) continue
    const at = (await stat(join(folder, name)).catch(() => null))?.mtimeMs ?? 0
    found.push({ folder, job, run: Number(run), at })
  }
  const [first] = found.sort((a, b) => (a.job === b.job ? b.run - a.run : b.at - a.at))
  if (first) return first
  throw usageError(
    wanted === 'last' ? 'there is no job to go on with' : `there is no job ${wanted} to go on with`,
    `jobs that are not over are in ${folder}`,
  )
}

/** Removes what is left of a job's runs before `run`. */
export async function removeBefore({ folder, job, run }: Run): Promise<void> {
  for (const name of await readdir(folder)) {
    const rest = name.startsWith(`${job}.`) ? name.slice(job.length + 1) : null
    if (rest !== null && !(Number(rest) >= run)) await rm(join(folder, name), { force: true })
  }
}
