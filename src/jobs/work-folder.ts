import { randomUUID } from 'node:crypto'
import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import type { Host } from '../io/io.ts'
import { makeFolder } from '../io/new-file.ts'
import { identify, isRunning, type ProcessIdentity } from './process.ts'

const suffix = '.work'
const ownerFile = 'owner.json'

/** Of another machine or without an owner, since the last change. */
const abandonedMs = 600_000

/**
 * Makes a private folder for the input of a job that does not exist yet, beside the jobs.
 */
export async function makeWorkFolder(jobsFolder: string, host: Pick<Host, 'pid' | 'kill'>): Promise<string> {
  await makeFolder(jobsFolder)
  await removeAbandoned(jobsFolder, host)
  const path = join(jobsFolder, `${randomUUID()}${suffix}`)
  await mkdir(path, { mode: 0o700 })
  await writeFile(join(path, ownerFile), JSON.stringify(await identify(host.pid)), { mode: 0o600 })
  return path
}

/** Removes the folders of ended processes, which contain personal data. */
export async function removeAbandoned(jobsFolder: string, host: Pick<Host, 'kill'>): Promise<void> {
  for (const name of await readdir(jobsFolder)) {
    const path = join(jobsFolder, name)
    if (name.endsWith(suffix) && (await isAbandoned(path, host))) await rm(path, { recursive: true, force: true })
  }
}

async function isAbandoned(path: string, host: Pick<Host, 'kill'>): Promise<boolean> {
  const owner = await readOwner(path)
  if (owner?.host === hostname()) return !(await isRunning(owner, host))
  const changedAt = (await stat(path).catch(() => null))?.mtimeMs ?? 0
  return Date.now() - changedAt > abandonedMs
}

async function readOwner(path: string): Promise<ProcessIdentity | null> {
  try {
    return JSON.parse(await readFile(join(path, ownerFile), 'utf8')) as ProcessIdentity
  } catch {
    return null
  }
}
