import type { Journal } from './journal.ts'
import { type Item, isToSend } from './send.ts'

/** Lines for one request; `noted` resolves when it is on the disk that they are about to be sent. */
export interface Noted {
  readonly items: readonly Item[]
  readonly noted: Promise<void>
}

/**
 * Notes lines before there is room to send them, so that none waits for the disk then: at least `ahead` of them, and again
 * when half of those are taken. With 0 each is noted when its turn has come. When the groups end by an error, those before
 * it come first.
 */
export async function* noting(
  journal: Journal | null,
  groups: AsyncIterable<readonly Item[]>,
  ahead: () => number,
): AsyncGenerator<Noted> {
  const reader = openReader(journal, groups[Symbol.asyncIterator](), ahead)
  try {
    for (let next = await reader.next(); next; next = await reader.next()) {
      if (ahead() > 0) await next.noted.catch(() => {}) // whoever sends them hears of it
      yield next
    }
  } finally {
    await reader.close()
  }
}

function openReader(journal: Journal | null, source: AsyncIterator<readonly Item[]>, ahead: () => number) {
  const queue: Noted[] = []
  let [lines, isOver] = [0, false]
  let failure: { readonly error: unknown } | null = null
  let filling: Promise<void> | null = null
  const fill = async () => {
    try {
      do {
        const { done, value } = await source.next()
        if (done) isOver = true
        else queue.push(note(journal, value))
        lines += done ? 0 : value.length
      } while (!isOver && lines < ahead())
    } catch (error) {
      failure = { error }
      isOver = true
    }
    filling = null
  }
  const next = async (): Promise<Noted | null> => {
    for (;;) {
      if (!isOver && lines <= ahead() / 2) filling ??= fill()
      const first = queue.shift()
      if (first) {
        lines -= first.items.length
        return first
      }
      if (failure) throw failure.error
      if (isOver) return null
      await filling
    }
  }
  const close = async () => {
    await filling
    await source.return?.()
  }
  return { next, close }
}

function note(journal: Journal | null, items: readonly Item[]): Noted {
  const left = items.filter(isToSend)
  const noted = journal && left.length > 0 ? journal.noted(left) : Promise.resolve()
  noted.catch(() => {}) // it may fail before anybody waits for it
  return { items, noted }
}
