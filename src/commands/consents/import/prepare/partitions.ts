import { createHash } from 'node:crypto'
import { appendFile, open, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Circumstances } from '../../../../contract/circumstances.ts'
import type { DecidedValue, Reason } from './prepared.ts'

/** Identical for all answers of a person. */
export interface Details {
  readonly consent_id?: string | undefined
  readonly subject_id?: string | undefined
  readonly ip_address?: string | undefined
  readonly user_agent?: string | undefined
  readonly notice_locale?: string | undefined
  readonly evidence?: string | undefined
}

export interface Problem {
  readonly reason: Reason
  readonly message: string
}

export interface LeftOut {
  readonly table: DecidedValue['table']
  readonly value: string
}

export interface Meaning {
  readonly originId: string
  /** Unix time, ms. */
  readonly at: number
  readonly version: number
  /** Null if derived. */
  readonly accepted: boolean | null
  /** Names are unique; null is neither yes nor no. Objects with arbitrary keys would be slow. */
  readonly purposes: readonly (readonly [name: string, given: boolean | null])[]
  readonly details: Details
  readonly circumstances?: Circumstances | undefined
  /** Leaves the row out; its purposes may still count for other rows. */
  readonly silence: LeftOut | null
}

export interface Position {
  readonly part: number
  readonly line: number
}

interface Sequenced extends Position {
  readonly sequence: number
}

export type AnswerEvent = Meaning & Sequenced

/** Rejects its person; sorted before the answers. */
export type RefusedEvent = Pick<Meaning, 'originId'> & { readonly at: 0; readonly problem: Problem } & Sequenced

export type Event = AnswerEvent | RefusedEvent

export function isRefused(event: Event): event is RefusedEvent {
  return 'problem' in event
}

interface Stored {
  readonly key: readonly [id: string, at: number, sequence: number]
  /** JSON of the key, a tab, JSON of the rest: sorting parses only the key. */
  readonly text: string
}

interface Limits {
  /** Maximum number of characters in memory. */
  readonly length: number
  /** Maximum characters per person; longer ones are rejected. */
  readonly personLength: number
  readonly partitions: number
}

const limits: Limits = { length: 4 * 1024 * 1024, personLength: 16 * 1024 * 1024, partitions: 128 }

export type Partitions = ReturnType<typeof openPartitions>

/**
 * Groups events by person, and sorts each person's by time. Those that do not fit into memory go to files by the hash of
 * the person. Each file is sorted in memory; one that is too long is first divided by the next byte of the hash.
 * The caller removes the private `folder`.
 */
export function openPartitions(folder: string, options: Limits = limits) {
  const partitions = openLevel(options, 0, partition => join(folder, partition))
  return {
    /** Returns a promise only if the caller must wait. */
    add: ({ originId, at, sequence, ...rest }: Event): Promise<void> | null => {
      const key = [originId, at, sequence] as const
      return partitions.add({ key, text: `${JSON.stringify(key)}\t${JSON.stringify(rest)}` })
    },
    /** Iterate once, after the last `add`. */
    sorted: partitions.sorted,
  }
}

const lastDepth = 1

function openLevel(options: Limits, depth: number, pathOf: (partition: string) => string) {
  const sizes = new Map<string, number>()
  let held: Stored[] = []
  let length = 0
  const flush = async (): Promise<void> => {
    const texts = new Map<string, string>()
    for (const { key, text } of held) {
      const hash = createHash('sha256').update(key[0]).digest()
      const path = pathOf(String((hash[depth] as number) % options.partitions))
      texts.set(path, `${texts.get(path) ?? ''}${text}\n`)
    }
    held = []
    length = 0
    for (const [path, text] of texts) {
      await appendFile(path, text, { mode: 0o600 })
      sizes.set(path, (sizes.get(path) ?? 0) + text.length)
    }
  }
  const add = (stored: Stored): Promise<void> | null => {
    held.push(stored)
    length += stored.text.length
    return length < options.length ? null : flush()
  }
  async function* sorted(): AsyncGenerator<Iterable<Event>> {
    if (sizes.size === 0) return yield sort(held)
    await flush()
    for (const [path, size] of sizes) {
      if (size <= (depth < lastDepth ? options.length : options.personLength)) yield sort(await readWhole(path))
      else if (depth < lastDepth) yield* divided(path)
      else yield* withoutLongPersons(path, options)
      await rm(path)
    }
  }
  async function* divided(path: string): AsyncGenerator<Iterable<Event>> {
    const parts = openLevel(options, depth + 1, partition => `${path}.${partition}`)
    for await (const lines of readTogether(path)) for (const stored of lines) await parts.add(stored)
    yield* parts.sorted()
  }
  return { add, sorted }
}

/** Rejects persons whose events cannot be sorted in memory: no record could hold so many answers. */
async function* withoutLongPersons(path: string, { personLength }: Limits): AsyncGenerator<Iterable<Event>> {
  const lengths = new Map<string, number>()
  for await (const lines of readTogether(path))
    for (const { key, text } of lines) lengths.set(key[0], (lengths.get(key[0]) ?? 0) + text.length)
  const others: Stored[] = []
  const isLong = ({ key }: Stored) => (lengths.get(key[0]) as number) > personLength
  for await (const lines of readTogether(path)) others.push(...lines.filter(each => !isLong(each)))
  yield sort(others)
  for (const [id, length] of lengths) {
    if (length <= personLength) continue
    for await (const lines of readTogether(path))
      yield lines.filter(({ key }) => key[0] === id).flatMap(stored => refuse(toEvent(stored)))
  }
}

function refuse(event: Event): RefusedEvent[] {
  if (!isRefused(event) && event.silence) return []
  const { originId, sequence, part, line } = event
  const problem = { reason: 'too_large', message: 'it has more rows than a record can hold' } as const
  return [{ originId, at: 0, sequence, part, line, problem }]
}

/** Parsed events take many times the memory of their texts. */
function* sort(held: Stored[]): Generator<Event> {
  held.sort(({ key: a }, { key: b }) => (a[0] === b[0] ? a[1] - b[1] || a[2] - b[2] : a[0] < b[0] ? -1 : 1))
  for (const stored of held) yield toEvent(stored)
}

function toEvent({ key: [originId, at, sequence], text }: Stored): Event {
  return { originId, at, sequence, ...JSON.parse(text.slice(text.indexOf('\t'))) }
}

function toStored(text: string): Stored {
  return { key: JSON.parse(text.slice(0, text.indexOf('\t'))) as Stored['key'], text }
}

async function readWhole(path: string): Promise<Stored[]> {
  return (await readFile(path, 'utf8')).slice(0, -1).split('\n').map(toStored)
}

async function* readTogether(path: string): AsyncGenerator<readonly Stored[]> {
  const file = await open(path)
  let rest: Buffer = Buffer.alloc(0)
  for await (const chunk of file.createReadStream()) {
    const bytes = Buffer.concat([rest, chunk as Buffer])
    const end = bytes.lastIndexOf(10) + 1
    rest = bytes.subarray(end)
    if (end > 0)
      yield bytes
        .toString('utf8', 0, end - 1)
        .split('\n')
        .map(toStored)
  }
}
