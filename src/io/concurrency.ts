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
  const running: Promise<Result>[] = []
  const source = items[Symbol.asyncIterator]()
  let failure: { readonly error: unknown } | undefined
  try {
    for (;;) {
      const next = await source
        .next()
        .catch((error: unknown) => ({ done: true as const, value: undefined, error }))
      if (next.done) {
        if ('error' in next) failure = { error: next.error }
        break
      }
      running.push(work(next.value))
      if (running.length >= limit) yield (await running.shift()) as Result
    }
    while (running.length > 0) yield (await running.shift()) as Result
    if (failure) throw failure.error
  } finally {
    await Promise.allSettled(running)
    await source.return?.()
  }
}
