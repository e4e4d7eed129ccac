import type { Chain } from './chain.ts'
import { cycle } from './pages.ts'
import { bottomOf, newStretch, paceOf, type Stretch, usualLength } from './stretch.ts'

/** Pages that are held, or will be: before a stretch is begun at the end of the others, and between them. */
const held = { atEnd: 10 * usualLength, within: 16 * usualLength }

/** Pages that may be wasted: some, and a part of those that were read. Where two stretches meet, half a page is. */
const waste = { some: 6, part: 0.04, seam: 0.5, cut: 1 }

/** Whether the next page of a stretch may be asked for, with so many requests to spare. */
export function mayRead(chain: Chain, stretch: Stretch, spare: number): boolean {
  if (stretch.isBusy || stretch.isWhole || stretch.failure) return false
  if (stretch === chain.head && stretch.ready.length === 0) return true // it is waited for
  return spare > 0 && stretch.ready.length < 2 * usualLength && heldBy(chain) < held.within
}

/**
 * Begins a stretch, the first that is worth it: at the end of those there are, or within one that has turned out to be
 * much longer than was thought. Null where none is, or nothing more may be held or wasted.
 */
export function cut(chain: Chain, spare: number): Stretch | null {
  if (spare <= 0 || chain.isUncut || !mayWaste(chain)) return null
  for (let each: Stretch | null = chain.head; each; each = each.next) {
    const top = each.isWhole || each.read === 0 ? null : placeIn(chain, each)
    if (top === null) continue
    const most = each.next ? held.within : held.atEnd
    if (heldBy(chain) + expectedOf(chain) + usualLength > most) return null
    const to = new Date(top).toISOString()
    const expected = paceOf(each)
    const { next } = each
    each.next = newStretch({ to, top, cursor: undefined, comesAgain: cycle(undefined), expected, next })
    return each.next
  }
  return null
}

/** Where to cut what is not read of a stretch; null where that is too short. */
function placeIn(chain: Chain, stretch: Stretch): number | null {
  const pace = paceOf(stretch)
  const pages = stretch.read < usualLength / 2 ? usualLength - stretch.read : usualLength
  const bottom = bottomOf(stretch)
  const place = Math.floor(Math.min(bottom - 1, bottom - pages * pace))
  const end = stretch.next?.top ?? chain.floor
  return place > end + (pace * usualLength) / 2 ? place : null
}

function mayWaste({ head, read, wasted }: Chain): boolean {
  let seams = 0
  for (let each = head; each.next; each = each.next) if (!each.isWhole) seams += 1
  return wasted + seams * waste.seam + waste.cut <= waste.some + read * waste.part
}

function heldBy({ head }: Chain): number {
  let pages = 0
  for (let each: Stretch | null = head; each; each = each.next)
    pages += each.ready.length + Number(each.isBusy)
  return pages
}

/** How many pages are still to be read of the stretches that there are, as far as they have their usual length. */
function expectedOf({ head }: Chain): number {
  let pages = 0
  for (let each: Stretch | null = head; each; each = each.next)
    if (!each.isWhole) pages += Math.max(0, usualLength - each.read)
  return pages
}
