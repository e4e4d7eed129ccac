import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Context } from '../context.ts'

/** Milliseconds after which nobody is still about to begin a job. */
const stale = 60_000

/** Removes what processes left that were killed while they began a job: there is a person in it. */
export async function sweep({ settings }: Pick<Context, 'settings'>): Promise<void> {
  const folder = join(settings.stateFolder, 'erasures')
  for (const name of await readdir(folder).catch(() => [])) {
    if (/^[\da-f-]{36}\.\d+$/.test(name)) continue
    const at = (await stat(join(folder, name)).catch(() => null))?.mtimeMs ?? 0
    if (Date.now() - at > stale) await rm(join(folder, name), { force: true })
  }
}
