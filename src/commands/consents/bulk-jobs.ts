import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Context } from '../../context.ts'
import { usageError } from '../../errors/errors.ts'
import { busy, type Header, readHeader } from './bulk-log.ts'

/** A run of a job: its journal is `<job>.<run>`. */
export interface Run {
  readonly folder: string
  readonly job: string
  /** From 1. */
  readonly run: number
}

/** The journals of jobs that are not over, in a folder that only its owner can read. */
export function jobsFolder({ settings }: Context): string {
  return join(settings.stateFolder, 'jobs')
}

export function pathOf({ folder, job, run }: Run): string {
  return join(folder, `${job}.${run}`)
}

/** The last run of a job, by the job's id or `last`. Throws a usage error where there is none. */
export async function findRun(ctx: Context, wanted: string): Promise<Run> {
  const folder = jobsFolder(ctx)
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

/** The header of a run that no process works on. Throws where one does. */
export async function readIdle(ctx: Context, run: Run): Promise<Header> {
  const header = await readHeader(pathOf(run))
  if (header.pid !== ctx.host.pid && isAlive(ctx, header.pid)) throw busy(`pid ${header.pid}`)
  return header
}

/** Removes what is left of a job's runs before `run`. */
export async function removeBefore({ folder, job, run }: Run): Promise<void> {
  for (const name of await readdir(folder)) {
    const rest = name.startsWith(`${job}.`) ? name.slice(job.length + 1) : null
    if (rest !== null && !(Number(rest) >= run)) await rm(join(folder, name), { force: true })
  }
}

function isAlive({ host }: Context, pid: number): boolean {
  try {
    host.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM' // somebody else's
  }
}
