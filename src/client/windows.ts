import type { ConsentQuery } from '../contract/index.ts'
import { parseInstant } from '../contract/values.ts'
import { accept, type Chain, unlink } from './chain.ts'
import { cut, mayRead } from './cuts.ts'
import { ApiError, EndlessListError, isCallError, UnorderedListError } from './errors.ts'
import { type List, largestPage, longWalk, type WalkedPage } from './pages.ts'
import { newStretch, rangeOf, type Stretch } from './stretch.ts'
import type { Answered } from './transport.ts'

/** Where a walk is that was long enough. */
export interface Progress {
  readonly cursor: string
  readonly comesAgain: (cursor: string) => boolean
  /** When the records were created that it has read, in their order. */
  readonly instants: readonly string[]
}

/** After so many answers one request more is tried again, where there were too many for the instance. */
const recovery = 50

/**
 * Goes on with a walk in several places at once: the list is cut by upper bounds into stretches, each long enough for
 * what is known of how close its records are, which are read at the same time and given away in order. The memory
 * that they take is bounded, and so is what they waste, whatever the list is like; a list that cannot be cut is read on
 * as it was. A failure is thrown where its page is due: what the stretches behind it met is tried again by then.
 */
export async function* walkInWindows(
  list: List,
  query: ConsentQuery,
  progress: Progress,
  concurrency: number,
): AsyncGenerator<WalkedPage> {
  const chain = begin(query, progress)
  const reader = openReader(list, query, chain, concurrency)
  try {
    for (;;) {
      reader.goOn()
      const { head } = chain
      const page = head.ready.shift()
      if (page) yield page
      else if (head.failure) throw head.failure.error
      else if (!head.isWhole) await reader.change()
      else if (head.next) {
        chain.head = head.next
        if (isCallError(chain.head.failure?.error)) chain.head.failure = null // it is its turn: once more
      } else return
    }
  } finally {
    reader.stop()
  }
}

/** The whole rest of the list as one stretch. */
function begin(query: ConsentQuery, { cursor, comesAgain, instants }: Progress): Chain {
  const range = rangeOf(instants, Number.POSITIVE_INFINITY)
  const top = range?.first ?? 0
  const head = newStretch({ to: null, top, cursor, comesAgain, expected: 0, next: null })
  head.read = longWalk
  for (let page = 0; range && page <= longWalk; page += 1) {
    const index = Math.round(((instants.length - 1) * page) / longWalk)
    head.marks.push(parseInstant(instants[index] ?? '') ?? range.last)
  }
  const floor = (query.from && parseInstant(query.from)) || 0
  return { head, floor, read: longWalk, wasted: 0, isUncut: !range }
}

/** Reads the stretches of a chain, as many at once as the instance bears. */
function openReader(list: List, query: ConsentQuery, chain: Chain, concurrency: number) {
  const room = openRoom(concurrency)
  let [running, isOver, wake] = [0, false, () => {}]
  const read = async (stretch: Stretch) => {
    stretch.isBusy = true
    running += 1
    try {
      const { to, cursor } = stretch
      const asked = { ...query, ...(to !== null && { to }), cursor, limit: largestPage }
      await accept(chain, stretch, await list({ query: asked, onAnswer: room.onAnswer }))
    } catch (error) {
      room.shrink(1)
      fail(chain, stretch, error)
    }
    running -= 1
    stretch.isBusy = false
    goOn()
    wake()
  }
  const goOn = () => {
    if (isOver) return
    for (let each: Stretch | null = chain.head; each; each = each.next)
      if (mayRead(chain, each, room.size() - running)) void read(each)
    for (let fresh = cut(chain, room.size() - running); fresh; fresh = cut(chain, room.size() - running))
      fresh.opening = read(fresh)
  }
  const change = () =>
    new Promise<void>(resolve => {
      wake = resolve
    })
  const stop = () => {
    isOver = true
  }
  return { goOn, change, stop }
}

/** How many requests may be under way: half as many when there are too many for the instance, and more again in time. */
function openRoom(concurrency: number) {
  let [size, answers] = [concurrency, 0]
  const shrink = (to: number) => {
    size = Math.max(1, Math.floor(to))
    answers = 0
  }
  const onAnswer = ({ status }: Answered) => {
    if (status === 429 || status === 503) return shrink(size / 2)
    answers += 1
    if (answers % recovery === 0) size = Math.min(concurrency, size + 1)
  }
  return { size: () => size, shrink, onAnswer }
}

/**
 * A stretch that did not even begin is none, and counts as a waste, so that not more and more are tried while nobody reads on;
 * whatever is no matter of the list ends the walk at once.
 */
function fail(chain: Chain, stretch: Stretch, error: unknown): void {
  const isOfList =
    isCallError(error) || error instanceof EndlessListError || error instanceof UnorderedListError
  if (!isOfList) {
    chain.isUncut = true
    chain.head.ready.length = 0
    chain.head.failure = { error }
  }
  if (stretch.read > 0) {
    stretch.failure = { error }
    return
  }
  chain.wasted += 1
  if (error instanceof ApiError && error.status === 400) chain.isUncut = true
  unlink(chain, stretch)
}
