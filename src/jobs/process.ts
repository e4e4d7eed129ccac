import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { hostname, platform } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Host } from '../io/io.ts'
import { makeFolder } from '../io/new-file.ts'

/** Identifies a process even if its pid is reused, or used on another machine. */
export interface ProcessIdentity {
  readonly pid: number
  readonly host: string
  /** Opaque; null if the system does not report it. */
  readonly started: string | null
}

export async function identify(pid: number): Promise<ProcessIdentity> {
  const status = await readStatus(pid)
  return { pid, host: hostname(), started: status?.started ?? null }
}

/** Returns true unless a process of this machine has certainly ended. Zombies have ended. */
export async function isRunning(other: ProcessIdentity, { kill }: Pick<Host, 'kill'>): Promise<boolean> {
  try {
    kill(other.pid, 0)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false // another user's
  }
  const status = await readStatus(other.pid)
  if (status === null) return true
  if (status.isZombie) return false
  return other.started === null || other.started === status.started
}

interface Status {
  readonly started: string
  readonly isZombie: boolean
}

/** The start is in clock ticks since boot on Linux, in seconds from ps(1) elsewhere, and unknown on Windows. */
async function readStatus(pid: number): Promise<Status | null> {
  if (platform() === 'linux') return await statusFromProc(pid).catch(() => null)
  return platform() === 'win32' ? null : await statusFromPs(pid).catch(() => null)
}

/** proc_pid_stat(5): the second field is a name in parentheses, which may contain spaces and parentheses. */
async function statusFromProc(pid: number): Promise<Status | null> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const [state, started] = [fields[0], fields[19]]
  return started === undefined ? null : { started, isZombie: state === 'Z' || state === 'X' }
}

export async function statusFromPs(pid: number): Promise<Status | null> {
  const ps = ['LC_ALL=C', 'TZ=UTC', 'ps', '-o', 'stat=,lstart=', '-p', String(pid)]
  const { stdout } = await promisify(execFile)('env', ps)
  const [, state, started] = /^\s*(\S+)\s+(.+?)\s*$/.exec(stdout) ?? []
  return state === undefined || started === undefined ? null : { started, isZombie: state.startsWith('Z') }
}

const suffix = '.work'
const ownerFile = 'owner.json'

/** Time since the last change, for a file of another machine or without an owner. */
const abandonedMs = 600_000

/** For the input of a job that does not exist yet. */
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
  const text = readFile(join(path, ownerFile), 'utf8')
  const owner = await text.then(json => JSON.parse(json) as ProcessIdentity).catch(() => null)
  if (owner?.host === hostname()) return !(await isRunning(owner, host))
  const changedAt = (await stat(path).catch(() => null))?.mtimeMs ?? 0
  return Date.now() - changedAt > abandonedMs
}
