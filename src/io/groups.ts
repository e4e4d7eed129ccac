/** How large a group may become. */
export interface Room {
  readonly items: number
  readonly bytes: number
}

/** Milliseconds after which a group that is not full goes without what is still to come. */
const patience = 50

/**
 * Puts items together in their order, as many at once as there is room for; `room` is asked before each group. Of what
 * comes slowly nothing is held back for long. When the items end by an error, those before it come first.
 */
export async function* inGroups<Item>(
  items: AsyncIterable<Item>,
  bytesOf: (item: Item) => number,
  room: () => Promise<Room>,
): AsyncGenerator<readonly Item[]> {
  const source = items[Symbol.asyncIterator]()
  let next: Promise<IteratorResult<Item>> | undefined
  try {
    for (;;) {
      next ??= source.next()
      const first = await next
      if (first.done) return
      next = undefined
      const most = await room()
      const group = [first.value]
      if (most.items > 1) next = (await fill(group, most, source, bytesOf)).next
      yield group
    }
  } finally {
    await source.return?.()
  }
}

/** Adds to a group what comes in time and fits; returns what comes after it, if that is on its way. */
async function fill<Item>(
  group: Item[],
  most: Room,
  source: AsyncIterator<Item>,
  bytesOf: (item: Item) => number,
): Promise<{ readonly next?: Promise<IteratorResult<Item>> }> {
  let bytes = bytesOf(group[0] as Item)
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<null>(resolve => {
    timer = setTimeout(resolve, patience, null)
  })
  try {
    while (group.length < most.items) {
      const next = source.next()
      const result = await Promise.race([next, late]).catch(() => null) // whoever asks for it again hears of it
      if (result === null || result.done) return { next }
      bytes += bytesOf(result.value)
      if (bytes > most.bytes) return { next }
      group.push(result.value)
    }
    return {}
  } finally {
    clearTimeout(timer)
  }
}
