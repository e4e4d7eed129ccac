/** How large a group may become. */
export interface Room {
  readonly items: number
  readonly bytes: number
}

/** Milliseconds from its beginning after which a group that is not full goes without what is still to come. */
const patience = 50

/**
 * Puts items together in their order, as many at once as there is room for; `room` is asked before each group. Of what
 * comes slowly nothing is held back for long. When the items end by an error, those before it come first.
 */
export async function* inGroups<Item>(
  source: AsyncIterable<readonly Item[]>,
  bytesOf: (item: Item) => number,
  room: () => Promise<Room>,
): AsyncGenerator<readonly Item[]> {
  const arriving = source[Symbol.asyncIterator]()
  let present: readonly Item[] = []
  let at = 0
  let coming: Promise<IteratorResult<readonly Item[]>> | undefined
  const take = (items: readonly Item[]) => {
    coming = undefined
    present = items
    at = 0
  }
  try {
    for (;;) {
      while (at === present.length) {
        coming ??= arriving.next()
        const { done, value } = await coming
        if (done) return
        take(value)
      }
      const most = await room()
      const group: Item[] = []
      let bytes = 0
      const fill = () => {
        for (; at < present.length && group.length < most.items; at += 1) {
          const item = present[at] as Item
          bytes += bytesOf(item)
          if (bytes > most.bytes && group.length > 0) return
          group.push(item)
        }
      }
      fill()
      const end = performance.now() + patience
      while (at === present.length && group.length < most.items) {
        coming ??= arriving.next()
        const next = await inTime(coming, end - performance.now())
        if (next === null) break
        take(next)
        fill()
      }
      yield group
    }
  } finally {
    await arriving.return?.()
  }
}

/**
 * What comes within so many milliseconds; null where that is nothing. Whoever asks for it again hears that it is the end, or
 * an error.
 */
function inTime<Item>(
  coming: Promise<IteratorResult<readonly Item[]>>,
  milliseconds: number,
): Promise<readonly Item[] | null> {
  return new Promise(resolve => {
    const giveUp = () => resolve(null)
    const timer = setTimeout(giveUp, Math.max(0, milliseconds))
    coming.then(({ done, value }) => resolve(done ? null : value), giveUp).finally(() => clearTimeout(timer))
  })
}
