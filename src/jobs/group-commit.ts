import { setImmediate as yieldToEventLoop } from 'node:timers/promises'

const longestWaitMs = 100

/** Concurrent appends share one write and one fsync. */
export interface GroupCommit {
  /** Resolves when the text and all before it are on disk. */
  append(text: string): Promise<void>
  /** Appends the text with the next one, or after 100 ms. */
  appendSoon(text: string): void
}

/**
 * `write` must resolve when the text is on disk. After a failed append all later ones fail with the same error,
 * because the end of the file is unknown.
 */
export function groupCommit(write: (text: string) => Promise<void>): GroupCommit {
  let delayed = ''
  let timer: NodeJS.Timeout | undefined
  let pending: { text: string; done: Promise<void> } | undefined
  let last: Promise<void> = Promise.resolve()
  const commit = async (before: Promise<void>, batch: { text: string }) => {
    await before
    await yieldToEventLoop() // to collect more texts of this tick
    pending = undefined
    await write(batch.text)
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
