/**
 * Runs the same work on every item, at most `limit` at once, and yields the results in the order of the items. No item
 * is taken before there is room for it, so memory does not grow with their number; when the reader stops early, what
 * is under way is waited for.
 */
export async function* inOrder<Item, Result>(
  items: AsyncIterable<Item>,
  limit: number,
  work: (item: Item) => Promise<Result>,
): AsyncGenerator<Result> {
  const running: Promise<Result>[] = []
  try {
    for await (const item of items) {
      running.push(work(item))
      if (running.length >= limit) yield (await running.shift()) as Result
    }
    while (running.length > 0) yield (await running.shift()) as Result
  } finally {
    await Promise.allSettled(running)
  }
}
