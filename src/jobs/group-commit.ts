import type { FileHandle } from 'node:fs/promises'
import { setImmediate as yieldToEventLoop } from 'node:timers/promises'

const longestWaitMs = 100

/** Appends texts to a file with one write and one fsync for all that come meanwhile. */
export interface GroupCommit {
  /** Resolves when the text is on the disk, with all that was given before it. */
  append(text: string): Promise<void>
  /** Appends the text with the next one, or after 100 ms. */
  appendSoon(text: string): void
}

/**
 * `verify` is called after each write with the number of bytes written. After an append that failed every later one fails
 * with the same error, because the end of the file is not known.
 */
export function groupCommit(file: FileHandle, verify: (bytes: number) => Promise<void>): GroupCommit {
  let delayed = ''
  let timer: NodeJS.Timeout | undefined
  let pending: { text: string; done: Promise<void> } | undefined
  let last: Promise<void> = Promise.resolve()
  const commit = async (before: Promise<void>, batch: { text: string }) => {
    await before
    await yieldToEventLoop() // what is appended in the same turn joins this batch
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

/** One write if the disk is not full: others may append to the same file, and must not do so in the middle of a line. */
export async function writeAll(file: FileHandle, bytes: Buffer): Promise<void> {
  for (let written = 0; written < bytes.length; )
    written += (await file.write(bytes, written, bytes.length - written)).bytesWritten
}
