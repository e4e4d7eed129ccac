import { pMapIterable } from 'p-map'

interface Bounds<Item> {
  readonly concurrency: number
  /** Total size of unread results at which no further item is taken. Default: `concurrency`. */
  readonly maxSize?: () => number
  readonly sizeOf?: (item: Item) => number
}

/**
 * Yields results in item order. An error of `map` or the source is thrown after the results before it.
 *
 * Adds to p-map: sizes, so that memory is bounded and a slow call does not hold back others; and when the consumer stops, a
 * wait for calls in flight and the end of the source, whose outcome must still be recorded.
 */
export async function* mapInOrder<Item, Result>(
  items: Iterable<Item> | AsyncIterable<Item>,
  { concurrency, maxSize = () => concurrency, sizeOf = () => 1 }: Bounds<Item>,
  map: (item: Item) => Promise<Result>,
): AsyncGenerator<Result> {
  const inFlight = new Set<Promise<unknown>>()
  let size = 0
  let isStopped = false
  let wake = () => {}
  async function* take() {
    for await (const item of items) {
      size += sizeOf(item)
      yield item
      while (size >= maxSize() && !isStopped)
        await new Promise<void>(resolve => {
          wake = resolve
        })
      if (isStopped) return
    }
  }
  const call = async (item: Item) => {
    const result = map(item)
    const ended = result.then(
      () => {},
      () => {},
    )
    inFlight.add(ended)
    void ended.then(() => inFlight.delete(ended))
    return { result: await result, size: sizeOf(item) }
  }
  const taken = take()
  const source = { [Symbol.asyncIterator]: () => taken }
  try {
    for await (const read of pMapIterable(source, call, { concurrency, backpressure: Infinity })) {
      yield read.result
      size -= read.size
      wake()
    }
  } finally {
    isStopped = true
    wake()
    await taken.return()
    await Promise.all(inFlight)
  }
}
