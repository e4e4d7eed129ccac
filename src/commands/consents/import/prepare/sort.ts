import { type FileHandle, open, rm } from 'node:fs/promises'
import { join } from 'node:path'

/** By the first three elements; `sequence` is unique. */
export type Sortable = readonly [id: string, at: number, sequence: number, ...rest: unknown[]]

type Key = readonly [id: string, at: number, sequence: number]

interface Stored {
  readonly key: Key
  /** JSON of the key, a tab, JSON of the rest: merging parses only the key. */
  readonly text: string
}

interface Limits {
  /** Characters in memory before a run is written. */
  readonly runLength: number
  readonly fanIn: number
}

const limits: Limits = { runLength: 2 * 1024 * 1024, fanIn: 128 }

const chunkBytes = 16_384

export type Sorter<Item extends Sortable> = ReturnType<typeof openSorter<Item>>

/** External merge sort in memory bounded by `limits`. The caller removes `folder` and its private files. */
export function openSorter<Item extends Sortable>(folder: string, { runLength, fanIn }: Limits = limits) {
  let held: Stored[] = []
  let length = 0
  let runs = 0
  const levels: string[][] = []
  const nextPath = () => {
    runs += 1
    return join(folder, `${runs}.run`)
  }
  const addRun = async (path: string, level: number): Promise<void> => {
    const peers = levels[level] ?? []
    levels[level] = peers
    peers.push(path)
    if (peers.length < fanIn) return
    levels[level] = []
    const merged = nextPath()
    await writeRun(merged, textsOf(merge(peers)))
    for (const peer of peers) await rm(peer)
    await addRun(merged, level + 1)
  }
  const flush = async (): Promise<void> => {
    held.sort((a, b) => compare(a.key, b.key))
    const path = nextPath()
    const texts = held.map(({ text }) => text)
    held = []
    length = 0
    await writeRun(path, inBatches(texts))
    await addRun(path, 0)
  }
  return {
    /** A promise only if the caller must wait. */
    add: (item: Item): Promise<void> | null => {
      const [id, at, sequence, ...rest] = item
      const key = [id, at, sequence] as const
      const text = `${JSON.stringify(key)}\t${JSON.stringify(rest)}`
      held.push({ key, text })
      length += text.length
      return length < runLength ? null : flush()
    },
    /** Read once, after the last `add`. Removes its files. */
    sorted: async function* (): AsyncGenerator<Iterable<Item>> {
      if (runs === 0) {
        held.sort((a, b) => compare(a.key, b.key))
        for (const batch of inBatches(held)) yield toItems<Item>(batch)
        return
      }
      if (held.length > 0) await flush()
      const paths = levels.flat()
      for await (const batch of merge(paths)) yield toItems<Item>(batch)
      for (const path of paths) await rm(path)
    },
  }
}

/** Parsed items take many times the memory of their texts. */
function* toItems<Item extends Sortable>(batch: readonly Stored[]): Generator<Item> {
  for (const stored of batch) yield toItem<Item>(stored)
}

function toItem<Item extends Sortable>({ key, text }: Stored): Item {
  const rest: unknown[] = JSON.parse(text.slice(text.indexOf('\t')))
  return [...key, ...rest] as readonly unknown[] as Item
}

async function* textsOf(batches: AsyncIterable<readonly Stored[]>): AsyncGenerator<readonly string[]> {
  for await (const batch of batches) yield batch.map(({ text }) => text)
}

function compare(a: Key, b: Key): number {
  if (a[0] !== b[0]) return a[0] < b[0] ? -1 : 1
  return a[1] - b[1] || a[2] - b[2]
}

const batchSize = 500

function* inBatches<Item>(items: readonly Item[]): Generator<readonly Item[]> {
  for (let start = 0; start < items.length; start += batchSize) yield items.slice(start, start + batchSize)
}

async function writeRun(
  path: string,
  batches: Iterable<readonly string[]> | AsyncIterable<readonly string[]>,
): Promise<void> {
  const file = await open(path, 'wx', 0o600)
  try {
    for await (const texts of batches) await file.writeFile(`${texts.join('\n')}\n`)
  } finally {
    await file.close()
  }
}

interface Cursor {
  readonly batches: AsyncGenerator<readonly Stored[]>
  batch: readonly Stored[]
  at: number
}

async function* merge(paths: readonly string[]): AsyncGenerator<readonly Stored[]> {
  const files: FileHandle[] = []
  try {
    const heap: Cursor[] = []
    for (const path of paths) {
      const file = await open(path)
      files.push(file)
      const cursor = { batches: readRun(file), batch: [], at: 0 }
      if (await fill(cursor)) heap.push(cursor)
    }
    for (let index = heap.length >> 1; index >= 0; index -= 1) sink(heap, index)
    let batch: Stored[] = []
    for (let [first] = heap; first; [first] = heap) {
      batch.push(first.batch[first.at] as Stored)
      first.at += 1
      if (first.at === first.batch.length && !(await fill(first))) removeFirst(heap)
      sink(heap, 0)
      if (batch.length < batchSize) continue
      yield batch
      batch = []
    }
    if (batch.length > 0) yield batch
  } finally {
    for (const file of files) await file.close()
  }
}

async function fill(cursor: Cursor): Promise<boolean> {
  const { done, value } = await cursor.batches.next()
  cursor.batch = done ? [] : value
  cursor.at = 0
  return !done
}

async function* readRun(file: FileHandle): AsyncGenerator<readonly Stored[]> {
  let rest: Buffer = Buffer.alloc(0)
  for (;;) {
    const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(chunkBytes), 0, chunkBytes)
    if (bytesRead === 0) return
    const bytes = Buffer.concat([rest, buffer.subarray(0, bytesRead)])
    const end = bytes.lastIndexOf(10) + 1
    rest = bytes.subarray(end)
    if (end === 0) continue
    const lines = bytes.toString('utf8', 0, end - 1).split('\n')
    yield lines.map(text => ({ key: JSON.parse(text.slice(0, text.indexOf('\t'))) as Key, text }))
  }
}

function removeFirst(heap: Cursor[]): void {
  const last = heap.pop()
  if (last && heap.length > 0) heap[0] = last
}

function sink(heap: Cursor[], index: number): void {
  let parent = index
  for (;;) {
    let least = parent
    for (const child of [2 * parent + 1, 2 * parent + 2])
      if (child < heap.length && isBefore(heap[child] as Cursor, heap[least] as Cursor)) least = child
    if (least === parent) return
    ;[heap[parent], heap[least]] = [heap[least] as Cursor, heap[parent] as Cursor]
    parent = least
  }
}

function isBefore(a: Cursor, b: Cursor): boolean {
  return compare(a.batch[a.at]?.key as Key, b.batch[b.at]?.key as Key) < 0
}
