import type { ConsentPage } from '../contract/index.ts'
import { EndlessListError, UnorderedListError } from './errors.ts'
import type { WalkedPage } from './pages.ts'
import { bottomOf, markPage, paceOf, rangeOf, type Stretch, seamIn, usualLength } from './stretch.ts'

/** The stretches of a list that are not given away yet, in its order. */
export interface Chain {
  head: Stretch
  /** The list has nothing before this instant. */
  floor: number
  /** How many pages were read, and how many of them in vain. */
  read: number
  wasted: number
  /** Whether no stretch is begun any more: the list cannot be cut. */
  isUncut: boolean
}

/**
 * Takes what was read of a stretch. Two stretches are one list where a page of the first has a record of the second's first
 * page: no bound and no clock decides what is left out, so that each record is there once, however finely an
 * instance keeps its instants. Throws where the list has no end, or cannot be what its stretches are put together to.
 */
export async function accept(chain: Chain, stretch: Stretch, page: ConsentPage): Promise<void> {
  const next = page.next_cursor || null // some write an empty one for none
  if (next !== null && stretch.comesAgain(next)) throw new EndlessListError()
  chain.read += 1
  const instants = page.data.map(({ created_at }) => created_at)
  const range = rangeOf(instants, bottomOf(stretch))
  const isFirst = stretch.read === 0
  if (isFirst && !range) return refuse(chain, stretch, page)
  if (isFirst) stretch.ids = new Set(page.data.map(({ id }) => id))
  if (!range && page.data.length > 0) distrust(chain, stretch)
  if (range) markPage(stretch, range)
  stretch.cursor = next ?? undefined
  await follower(stretch)
  const walked = { records: page.data, next, ...(stretch.to !== null && { to: stretch.to }) }
  while (stretch.next) {
    const { next: successor } = stretch
    const seam = seamIn(page.data, successor)
    if (seam < 0 && (next === null || isBehind(stretch, successor))) {
      unlink(chain, successor)
    } else if (seam < 0 || (seam === page.data.length - 1 && next !== null)) {
      break // it is not there yet; where one record alone tells, the next page is to confirm it
    } else if (!goesOnIn(page.data.slice(seam), successor)) {
      chain.isUncut = true
      unlink(chain, successor)
    } else {
      return join(chain, stretch, walked, seam)
    }
  }
  give(stretch, walked)
}

/**
 * Takes a stretch out, with what was read of it; the one before it goes on in its place. What it has handed to its own
 * successor goes with that.
 */
export function unlink(chain: Chain, stretch: Stretch): void {
  let before = chain.head
  while (before.next && before.next !== stretch) before = before.next
  if (before.next !== stretch) return
  if (stretch.isWhole && stretch.next) unlink(chain, stretch.next)
  before.next = stretch.next
  stretch.next = null
  chain.wasted += stretch.read
}

/** The first page of a stretch is not what its bound must bring: nothing, or a list that cannot be cut. */
function refuse(chain: Chain, stretch: Stretch, { data, next_cursor }: ConsentPage): void {
  const isNothing = data.length === 0 && !next_cursor && !stretch.next
  if (isNothing) chain.floor = Math.max(chain.floor, stretch.top)
  else chain.isUncut = true
  chain.wasted += 1
  unlink(chain, stretch)
}

/**
 * Records are not newest first: what is before an upper bound need not be behind all that is after it. The stretch that
 * the walk began with just goes on to the list's end; where another one was put behind it, records may be missing.
 */
function distrust(chain: Chain, stretch: Stretch): void {
  if (stretch.isJoined) throw new UnorderedListError()
  chain.isUncut = true
  while (stretch.next) unlink(chain, stretch.next)
  if (stretch.to !== null) unlink(chain, stretch)
}

/** Resolves when the first page of the next stretch is there to be joined: that is after it was read. */
async function follower(stretch: Stretch): Promise<void> {
  for (let opened: Stretch | null = null; stretch.next && stretch.next !== opened; ) {
    opened = stretch.next
    await opened.opening
  }
}

/**
 * Whether the first page of a stretch has all that is behind a seam, as far as it reaches. An instance whose upper bound is
 * on another date than the one its list is ordered by leaves records out, and one that is changed meanwhile may.
 */
function goesOnIn(records: readonly { readonly id: string }[], { ids }: Stretch): boolean {
  const first = [...ids]
  const start = first.indexOf(records[0]?.id ?? '')
  return records.every(({ id }, index) => start + index >= first.length || first[start + index] === id)
}

/** Whether a stretch has been read beyond the first page of its successor, of which all records must then be deleted. */
function isBehind(stretch: Stretch, { marks }: Stretch): boolean {
  return bottomOf(stretch) < (marks[1] ?? Number.NEGATIVE_INFINITY)
}

/** Ends a stretch where it has reached its successor, which takes over what is left of its last page. */
function join(chain: Chain, stretch: Stretch, { records }: WalkedPage, seam: number): void {
  const successor = stretch.next
  if (!successor) return
  chain.wasted += (records.length - seam) / records.length
  const isNothing = stretch.to !== null && stretch.read === 1 && seam === 0
  if (isNothing) {
    successor.top = stretch.top // nothing lies between
    stretch.read = 0
    unlink(chain, stretch)
    return
  }
  stretch.isWhole = true
  stretch.cursor = undefined
  successor.isJoined = true
  if (stretch.read < usualLength / 2) successor.expected = Math.max(successor.expected, paceOf(stretch))
  let taker = successor
  while (taker.ready.length === 0 && taker.next) taker = taker.next
  const [first] = taker.ready
  if (!first) throw new Error('a stretch without its first page')
  const fresh = first.records.filter(({ id }) => id !== stretch.lastId)
  taker.ready[0] = { ...first, records: [...records.slice(0, seam), ...fresh] }
}

function give(stretch: Stretch, page: WalkedPage): void {
  stretch.ready.push(page)
  stretch.lastId = page.records.at(-1)?.id ?? stretch.lastId
  stretch.isWhole = page.next === null
}
