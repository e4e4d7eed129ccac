import { randomUUID } from 'node:crypto'
import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { basename, dirname, join } from 'node:path'
import type { Host } from '../../../../io/io.ts'
import { makeFolder } from '../../../../io/new-file.ts'
import { identify, isRunning, type ProcessIdentity } from '../../../../jobs/process.ts'

const suffix = '.import'
const ownerFile = 'owner.json'
const rowsFile = 'rows.ndjson'

/** Of another machine or without an owner, since the last change. */
const abandonedMs = 600_000

export interface WorkFolder {
  readonly path: string
  readonly rows: string
}

/**
 * First removes folders of ended processes, which contain personal data, except the rows `inUse`; none if that is
 * null.
 */
export async function makeWorkFolder(
  folder: string,
  host: Pick<Host, 'pid' | 'kill'>,
  inUse: readonly string[] | null,
): Promise<WorkFolder> {
  await makeFolder(folder)
  if (inUse !== null) await removeAbandoned(folder, host, inUse)
  const path = join(folder, `${randomUUID()}${suffix}`)
  await mkdir(path, { mode: 0o700 })
  await writeFile(join(path, ownerFile), JSON.stringify(await identify(host.pid)), { mode: 0o600 })
  return { path, rows: join(path, rowsFile) }
}

/** With their folder; ignores other files. */
export async function removePrepared(rows: string): Promise<void> {
  const folder = dirname(rows)
  if (folder.endsWith(suffix) && rows === join(folder, rowsFile)) await rm(folder, { recursive: true, force: true })
}

async function removeAbandoned(
  folder: string,
  host: Pick<Host, 'pid' | 'kill'>,
  inUse: readonly string[],
): Promise<void> {
  // A job may have a path through a link.
  const needed = new Set(inUse.map(rows => basename(dirname(rows))))
  for (const name of await readdir(folder)) {
    const path = join(folder, name)
    if (!name.endsWith(suffix) || needed.has(name)) continue
    if (await isAbandoned(path, host)) await rm(path, { recursive: true, force: true })
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
