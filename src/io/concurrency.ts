/**
 * Runs the same work on every item, at most `limit` at once, and yields the results in the order of the items. No item
 * is taken before there is room for it, so memory does not grow with their number. When the items end, also by an error
 * of theirs, what is under way is yielded first: its work is done, and somebody must hear of it.
 */
export async function* inOrder<Item, Result>(
  items: AsyncIterable<Item>,
  limit: number,
  work: (item: Item) => Promise<Result>,
): AsyncGenerator<Result> {
  const room = { limit, most: limit, sizeOf: () => 1 }
  for await (const results of inOrderTogether(items, room, work)) yield* results
}

/** How much is begun before its results are read. */
export interface Room<Item> {
  /** No more items than these are worked on at once. */
  readonly limit: number
  /** None is begun while those whose results are not read come to so much: what is done waits for what began before it. */
  readonly most: number
  readonly sizeOf: (item: Item) => number
}

/** The same, with all results together that are there in their order. While they are read, others begin. */
export async function* inOrderTogether<Item, Result>(
  items: AsyncIterable<Item>,
  room: Room<Item>,
  work: (item: Item) => Promise<Result>,
): AsyncGenerator<Result[]> {
  const workshop = openWorkshop(items[Symbol.asyncIterator](), room, work)
  try {
    for (;;) {
      workshop.goOn()
      const { results, size, error } = workshop.ready()
      if (results.length > 0) yield results
      workshop.release(size)
      if (error) throw error.error
      if (results.length > 0) continue
      if (workshop.isEmpty()) return
      await workshop.change()
    }
  } finally {
    await workshop.close()
  }
}

/** An item that was begun; `end` is null until it is known what came of it, or that the items ended by an error. */
interface Begun<Result> {
  readonly size: number
  end: { readonly result: Result } | { readonly error: unknown } | null
}

/** Takes items and works on them as there is room, whether somebody reads the results or not. */
function openWorkshop<Item, Result>(
  source: AsyncIterator<Item>,
  { limit, most, sizeOf }: Room<Item>,
  work: (item: Item) => Promise<Result>,
) {
  const begun: Begun<Result>[] = []
  const running = new Set<Promise<void>>()
  let [held, isOver, wake] = [0, false, () => {}]
  let taking: Promise<void> | null = null
  const goOn = () => {
    if (!taking && !isOver && running.size < limit && held < most) taking = take()
    wake()
  }
  const take = async () => {
    try {
      const next = await source.next()
      if (!next.done && !isOver) begin(next.value)
      else isOver = true
    } catch (error) {
      begun.push({ size: 0, end: { error } })
      isOver = true
    }
    taking = null
    goOn()
  }
  const begin = (item: Item) => {
    const one: Begun<Result> = { size: sizeOf(item), end: null }
    begun.push(one)
    held += one.size
    const ended: Promise<void> = endOf(work(item)).then(end => {
      one.end = end
      running.delete(ended)
      goOn()
    })
    running.add(ended)
  }
  return {
    goOn,
    ready: () => takeReady(begun),
    release: (size: number) => {
      held -= size
    },
    isEmpty: () => isOver && begun.length === 0,
    change: () =>
      new Promise<void>(resolve => {
        wake = resolve
      }),
    close: async () => {
      isOver = true
      await taking
      await Promise.all(running)
      await source.return?.()
    },
  }
}

function endOf<Result>(work: Promise<Result>) {
  return work.then(
    result => ({ result }),
    (error: unknown) => ({ error }),
  )
}

/** Takes from the front what has ended, up to the first that failed. */
function takeReady<Result>(begun: Begun<Result>[]) {
  const results: Result[] = []
  let size = 0
  for (let end = begun[0]?.end; end; end = begun[0]?.end) {
    size += begun.shift()?.size ?? 0
    if ('error' in end) return { results, size, error: end }
    results.push(end.result)
  }
  return { results, size, error: null }
}
