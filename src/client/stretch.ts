import type { Consent } from '../contract/index.ts'
import { parseInstant } from '../contract/values.ts'
import type { WalkedPage } from './pages.ts'

/** How many pages a stretch is to have: more and its reader waits for more of them at once, fewer and more are wasted. */
export const usualLength = 12

/**
 * A part of a list that is read by its own cursor: from an upper bound, or from where a walk was, down to the first record of
 * the next stretch. Instants are milliseconds since 1970.
 */
export interface Stretch {
  /** The upper bound of its query; null for the one that the walk began with. */
  readonly to: string | null
  /** Nothing lies between this instant and its first record. */
  top: number
  cursor: string | undefined
  readonly comesAgain: (cursor: string) => boolean
  /** Pages that were read and not given away. */
  readonly ready: WalkedPage[]
  /** How many pages were read. */
  read: number
  /** The instants of the first record and of the last one of each page; of the latest pages alone. */
  readonly marks: number[]
  /** Milliseconds a page, as far as they were known when it began. */
  expected: number
  /** The ids of its first page, by which the stretch before it knows its end. */
  ids: ReadonlySet<string>
  /** The id of the last record that was read. */
  lastId: string | undefined
  /** Settles when its first page is there, or is known not to come. */
  opening: Promise<void>
  next: Stretch | null
  /** Whether the stretch before it has reached its first record. */
  isJoined: boolean
  /** Whether all of it was read. */
  isWhole: boolean
  isBusy: boolean
  /** What the latest request for it failed with. */
  failure: { readonly error: unknown } | null
}

type Beginning = Pick<Stretch, 'to' | 'top' | 'cursor' | 'comesAgain' | 'expected' | 'next'>

export function newStretch(beginning: Beginning): Stretch {
  return {
    ...beginning,
    ready: [],
    read: 0,
    marks: [],
    ids: new Set(),
    lastId: undefined,
    opening: Promise.resolve(),
    isJoined: false,
    isWhole: false,
    isBusy: false,
    failure: null,
  }
}

/** The instant that a stretch has been read down to. */
export function bottomOf({ marks, top }: Stretch): number {
  return marks.at(-1) ?? top
}

/** Milliseconds a page: of its own latest pages once they are some, for a few say little where records come in bursts. */
export function paceOf({ marks, read, expected }: Stretch): number {
  const own = marks.length < 2 ? 0 : ((marks[0] ?? 0) - (marks.at(-1) ?? 0)) / (marks.length - 1)
  return read < usualLength / 2 ? Math.max(own, expected) : own
}

/** Keeps where a page of so many records has ended. */
export function markPage(stretch: Stretch, { first, last }: Range): void {
  const { marks } = stretch
  if (marks.length === 0) marks.push(first)
  marks.push(last)
  if (marks.length > usualLength + 1) marks.shift()
  stretch.read += 1
}

/** The instants of the newest and of the oldest one of some records. */
export interface Range {
  readonly first: number
  readonly last: number
}

/** Those of records that are newest first, and none newer than `top`; null where they are not, or cannot be compared. */
export function rangeOf(instants: readonly string[], top: number): Range | null {
  const first = parseInstant(instants[0] ?? '')
  const last = parseInstant(instants.at(-1) ?? '')
  if (first === null || last === null || first > top) return null
  const isOrdered = instants.every((instant, index) => index === 0 || !isAfter(instant, instants[index - 1]))
  return isOrdered ? { first, last } : null
}

/** Whether an instant is later than another one, or one of them is none. Most are written alike, and compare as texts. */
function isAfter(instant: string, other = ''): boolean {
  if (instant === other) return false
  if (instant.length === other.length && instant.endsWith('Z') && other.endsWith('Z')) return instant > other
  const [a, b] = [parseInstant(instant), parseInstant(other)]
  return a === null || b === null || a > b
}

/** Where some records reach the first page of another stretch; -1 where they do not. */
export function seamIn(records: readonly Consent[], { ids }: Stretch): number {
  return records.findIndex(({ id }) => ids.has(id))
}
