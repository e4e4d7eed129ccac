import { type FileHandle, stat } from 'node:fs/promises'
import { busy } from './log.ts'

/**
 * Appends texts and resolves when each is on the disk; those that come meanwhile share the next write. After a write that
 * failed every other fails alike: the end of the file is not known. One fails too where the file is no longer at its
 * path: another process has then taken what is in it.
 */
export function groupCommit(file: FileHandle, path: string): (text: string) => Promise<void> {
  let waiting: { text: string; done: Promise<void> } | undefined
  let last: Promise<void> = Promise.resolve()
  const commit = async (before: Promise<void>, batch: { text: string }) => {
    await before
    waiting = undefined
    await file.appendFile(batch.text)
    await file.datasync()
    await stat(path).catch(() => Promise.reject(busy()))
  }
  return text => {
    if (!waiting) {
      const batch = { text: '', done: Promise.resolve() }
      waiting = batch
      last = batch.done = commit(last, batch)
    }
    waiting.text += text
    return waiting.done
  }
}
