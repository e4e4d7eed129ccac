/** A single item may exceed the maximum. */
interface GroupSize {
  readonly items: number
  readonly bytes: number
}

/** Time from a group's first item until it is yielded. */
const maxWaitMs = 50

/** Yields in order; an error comes after the items before it. */
export async function* inGroups<Item>(
  source: AsyncIterable<readonly Item[]>,
  bytesOf: (item: Item) => number,
  sizeOfNext: () => Promise<GroupSize>,
): AsyncGenerator<readonly Item[]> {
  const iterator = source[Symbol.asyncIterator]()
  let coming: Promise<IteratorResult<readonly Item[]>> | undefined
  let present: readonly Item[] = []
  const read = async (timeoutMs?: number): Promise<boolean> => {
    coming ??= iterator.next()
    const next = await (timeoutMs === undefined ? coming : withTimeout(coming, timeoutMs))
    if (!next || next.done) return false
    coming = undefined
    present = next.value
    return true
  }
  try {
    while (present.length > 0 || (await read())) {
      if (present.length === 0) continue
      const most = await sizeOfNext()
      const end = performance.now() + maxWaitMs
      const group: Item[] = []
      let bytes = 0
      const isFull = (item: Item) => {
        bytes += bytesOf(item)
        return group.length === most.items || (bytes > most.bytes && group.length > 0)
      }
      do {
        let taken = 0
        for (const item of present) {
          if (isFull(item)) break
          group.push(item)
          taken += 1
        }
        present = present.slice(taken)
      } while (present.length === 0 && group.length < most.items && (await read(end - performance.now())))
      yield group
    }
  } finally {
    await iterator.return?.()
  }
}

/** Null at the timeout or an error, which a later await of `coming` throws. */
function withTimeout<Item>(
  coming: Promise<IteratorResult<readonly Item[]>>,
  timeoutMs: number,
): Promise<IteratorResult<readonly Item[]> | null> {
  return new Promise(resolve => {
    const giveUp = () => resolve(null)
    const timer = setTimeout(giveUp, Math.max(0, timeoutMs))
    coming.then(resolve, giveUp).finally(() => clearTimeout(timer))
  })
}
