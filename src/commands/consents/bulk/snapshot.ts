import { randomUUID } from 'node:crypto'
import { join, resolve } from 'node:path'
import type { Context } from '../../../context.ts'
import { makeFolder, openOutFile } from '../../../io/new-file.ts'

/** Each file belongs to one job and is removed with it. */
export function snapshotFolder(settings: Context['settings']): string {
  return resolve(settings.stateFolder, 'snapshots')
}

/** A change can make a record stop matching, so the selection cannot be repeated. */
export async function writeSnapshot({ settings }: Context, ids: readonly string[]): Promise<string> {
  const folder = snapshotFolder(settings)
  await makeFolder(folder)
  const path = join(folder, `${randomUUID()}.ids`)
  const file = await openOutFile(path, '--where')
  try {
    for (let start = 0; start < ids.length; start += 10_000)
      await file.write(`${ids.slice(start, start + 10_000).join('\n')}\n`)
    await file.commit()
  } finally {
    await file.abandon(false)
  }
  return path
}
