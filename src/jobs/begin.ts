import { type FileHandle, rm, stat } from 'node:fs/promises'
import { isTaken, openDraft, partOf } from '../io/draft.ts'
import { busy, encode, mark } from './log.ts'
import { pathOf, type Run, removeBefore } from './runs.ts'

/**
 * Every run has a file of its own, which begins with all that is known before it, and takes its name only when that is
 * complete: of two processes that begin the same run, the second finds the name taken, or the run before it gone.
 */
export async function beginRun(
  run: Run,
  header: unknown,
  before: { readonly path: string; readonly carried: AsyncIterable<unknown> } | null,
): Promise<FileHandle> {
  const path = pathOf(run)
  const draft = await openDraft(partOf(path))
  try {
    await draft.file.appendFile(encode(header))
    if (before) for await (const text of inBlocks(before.carried)) await draft.file.appendFile(text)
    await draft.file.appendFile(encode(mark))
    await draft.take(path)
    if (before) await stat(before.path).catch(() => rm(path).then(() => Promise.reject(busy())))
  } catch (error) {
    await draft.file.close()
    await draft.remove()
    throw isTaken(error) || isGone(error) ? busy() : error
  }
  await removeBefore(run)
  return draft.file
}

/** Events as lines of a journal, in texts of some size. */
async function* inBlocks(carried: AsyncIterable<unknown>): AsyncGenerator<string> {
  let text = ''
  for await (const event of carried) {
    text += encode(event)
    if (text.length < 65_536) continue
    yield text
    text = ''
  }
  yield text
}

function isGone(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT'
}
