import { describe, expect, it, vi } from 'vitest'
import { instantOf, newId } from '../../server/ids.ts'

describe('ids', () => {
  it('are in the order in which they were made, however many a millisecond has, and of that millisecond', () => {
    const before = Date.now()
    const ids = Array.from({ length: 20_000 }, newId)
    const after = Date.now()
    expect(ids).toEqual([...new Set(ids)].sort())
    for (const id of ids) {
      expect(id).toMatch(/^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/)
      expect(instantOf(id).getTime()).toBeGreaterThanOrEqual(before)
      expect(instantOf(id).getTime()).toBeLessThanOrEqual(after)
    }
  })

  it('stay in that order when the clock is set back', () => {
    const first = newId()
    const clock = vi.spyOn(Date, 'now').mockReturnValue(Date.now() - 60_000)
    const second = newId()
    clock.mockRestore()
    expect(second > first).toBe(true)
  })
})
