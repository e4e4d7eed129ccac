import type { FileHandle } from 'node:fs/promises'
import { setImmediate as yieldToEventLoop } from 'node:timers/promises'

const longestWaitMs = 100

/** Appends texts to a file, with one write and one fsync for all that come meanwhile. */
export interface GroupCommit {
  /** Resolves when the text, and all before it, is on the disk. */
  append(text: string): Promise<void>
  /** Appends the text with the next one, or after 100 ms. */
  appendSoon(text: string): void
}

/**
 * `verify` is called after each write with the number of bytes written. After a failed append every later one fails with the
 * same error, because the end of the file is unknown.
 */
export function groupCommit(file: FileHandle, verify: (bytes: number) => Promise<void>): GroupCommit {
  let delayed = ''
  let timer: NodeJS.Timeout | undefined
  let pending: { text: string; done: Promise<void> } | undefined
  let last: Promise<void> = Promise.resolve()
  const commit = async (before: Promise<void>, batch: { text: string }) => {
    await before
    await yieldToEventLoop() // for more texts of this turn
    pending = undefined
    const bytes = Buffer.from(batch.text)
    await writeAll(file, bytes)
    await file.datasync()
    await verify(bytes.length)
  }
  const append = (text: string) => {
    if (!pending) {
      const batch = { text: '', done: Promise.resolve() }
      pending = batch
      last = batch.done = commit(last, batch)
    }
    pending.text += delayed + text
    delayed = ''
    clearTimeout(timer)
    timer = undefined
    return pending.done
  }
  const appendSoon = (text: string) => {
    delayed += text
    timer ??= setTimeout(() => append('').catch(() => {}), longestWaitMs) // the next append fails with the same error
  }
  return { append, appendSoon }
}

/** Writes at once if the disk is not full: other processes may append to the same file. */
export async function writeAll(file: FileHandle, bytes: Buffer): Promise<void> {
  for (let written = 0; written < bytes.length; )
    written += (await file.write(bytes, written, bytes.length - written)).bytesWritten
}
