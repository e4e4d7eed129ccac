import { type FileHandle, stat } from 'node:fs/promises'
import { setImmediate as turn } from 'node:timers/promises'
import { busy } from './log.ts'

/** Milliseconds after which what is held is written, though nothing else is. */
const patience = 100

/** What appends texts to a file. */
export interface Commits {
  /** Resolves when a text is on the disk, with all that was given before it. */
  write(text: string): Promise<void>
  /** Has a text written with the next one, or some milliseconds later. */
  hold(text: string): void
}

/**
 * Appends texts; those that come meanwhile share the next write. After a write that failed every other fails alike: the
 * end of the file is not known. One fails too where the file is no longer at its path: another process has then taken what
 * is in it.
 */
export function groupCommit(file: FileHandle, path: string): Commits {
  let held = ''
  let timer: NodeJS.Timeout | undefined
  let waiting: { text: string; done: Promise<void> } | undefined
  let last: Promise<void> = Promise.resolve()
  const commit = async (before: Promise<void>, batch: { text: string }) => {
    await before
    await turn() // what is to be written in the same turn comes along
    waiting = undefined
    await file.appendFile(batch.text)
    await file.datasync()
    await stat(path).catch(() => Promise.reject(busy()))
  }
  const write = (text: string) => {
    if (!waiting) {
      const batch = { text: '', done: Promise.resolve() }
      waiting = batch
      last = batch.done = commit(last, batch)
    }
    waiting.text += held + text
    held = ''
    clearTimeout(timer)
    timer = undefined
    return waiting.done
  }
  const hold = (text: string) => {
    held += text
    timer ??= setTimeout(() => write('').catch(() => {}), patience) // the next one that is waited for fails alike
  }
  return { write, hold }
}
