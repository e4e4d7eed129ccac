import { describe, expect, it, vi } from 'vitest'
import { newId, readInstant } from '../../server/ids.ts'

describe('newId', () => {
  it('returns ids in order, even several in one millisecond, with the time of that millisecond', () => {
    const before = Date.now()
    const ids = Array.from({ length: 20_000 }, newId)
    const after = Date.now()
    expect(ids).toEqual([...new Set(ids)].sort())
    for (const id of ids) {
      expect(id).toMatch(/^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/)
      expect(readInstant(id).getTime()).toBeGreaterThanOrEqual(before)
      expect(readInstant(id).getTime()).toBeLessThanOrEqual(after)
    }
  })

  it('keeps the order when the clock is set back by less than a minute', () => {
    const first = newId()
    const second = at(-30_000, newId)
    expect(second > first).toBe(true)
    expect(readInstant(second).getTime()).toBeGreaterThanOrEqual(readInstant(first).getTime())
  })

  it('uses the current time again once a clock that was far ahead is corrected', () => {
    const ahead = at(24 * 60 * 60 * 1000, newId)
    const before = Date.now()
    const ids = [newId(), newId()]
    expect(readInstant(ahead).getTime()).toBeGreaterThan(before)
    for (const id of ids) expect(Math.abs(readInstant(id).getTime() - before)).toBeLessThan(1000)
    expect(ids).toEqual([...ids].sort())
  })
})

/** Runs `work` while the clock is wrong by `milliseconds`. */
function at<T>(milliseconds: number, work: () => T): T {
  const clock = vi.spyOn(Date, 'now').mockReturnValue(Date.now() + milliseconds)
  try {
    return work()
  } finally {
    clock.mockRestore()
  }
}
