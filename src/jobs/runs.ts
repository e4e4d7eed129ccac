import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'

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

/** The runs in a folder, of one job if it is given: the last one first. */
export async function runsIn(folder: string, wanted?: string): Promise<Run[]> {
  const found: (Run & { at: number })[] = []
  for (const name of await readdir(folder).catch(() => [])) {
    const [, job = '', run] = /^([\da-f-]{36})\.(\d+)$/.exec(name) ?? []
    if (run === undefined || (wanted !== undefined && wanted !== job)) continue
    const at = (await stat(join(folder, name)).catch(() => null))?.mtimeMs ?? 0
    found.push({ folder, job, run: Number(run), at })
  }
  return found.sort((a, b) => (a.job === b.job ? b.run - a.run : b.at - a.at))
}

/** Removes what is left of a job's runs before `run`. */
export async function removeBefore({ folder, job, run }: Run): Promise<void> {
  for (const name of await readdir(folder)) {
    const rest = name.startsWith(`${job}.`) ? name.slice(job.length + 1) : null
    if (rest !== null && !(Number(rest) >= run)) await rm(join(folder, name), { force: true })
  }
}
