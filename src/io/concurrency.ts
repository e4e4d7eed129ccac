import { pMapIterable } from 'p-map'

interface Bounds<Item> {
  readonly concurrency: number
  /** Total size of unread results that stops further items. Default: `concurrency`. */
  readonly maxSize?: () => number
  readonly sizeOf?: (item: Item) => number
}

/**
 * Yields results in item order; an error comes after the results before it.
 *
 * Beyond p-map: sizes bound the memory without a slow call holding back others, and a consumer that stops still waits
 * for calls in flight, whose outcome must be recorded.
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
