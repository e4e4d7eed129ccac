/** One item may exceed the maximum. */
interface GroupSize {
  readonly items: number
  readonly bytes: number
}

/** From a group's first item until it is yielded. */
const maxWaitMs = 50

/** In order; an error comes after the items before it. */
export async function* inGroups<Item>(
  source: AsyncIterable<readonly Item[]>,
  bytesOf: (item: Item) => number,
  sizeOfNext: () => Promise<GroupSize>,
): AsyncGenerator<readonly Item[]> {
  const iterator = source[Symbol.asyncIterator]()
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
        coming ??= iterator.next()
        const { done, value } = await coming
        if (done) return
        take(value)
      }
      const most = await sizeOfNext()
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
      const end = performance.now() + maxWaitMs
      while (at === present.length && group.length < most.items) {
        coming ??= iterator.next()
        const next = await withTimeout(coming, end - performance.now())
        if (next === null) break
        take(next)
        fill()
      }
      yield group
    }
  } finally {
    await iterator.return?.()
  }
}

/** Null at the timeout, the end or an error, which a later await of `coming` throws. */
function withTimeout<Item>(
  coming: Promise<IteratorResult<readonly Item[]>>,
  timeoutMs: number,
): Promise<readonly Item[] | null> {
  return new Promise(resolve => {
    const giveUp = () => resolve(null)
    const timer = setTimeout(giveUp, Math.max(0, timeoutMs))
    coming.then(({ done, value }) => resolve(done ? null : value), giveUp).finally(() => clearTimeout(timer))
  })
}
