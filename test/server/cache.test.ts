import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Cache } from '../../server/cache.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] })
  vi.advanceTimersByTime(1) // lru-cache takes a start of 0 for no start
})
afterEach(() => void vi.useRealTimers())

/** A lookup that counts its calls and resolves when the test says so. */
function slowLookup() {
  const waiting: { resolve(value: string | undefined): void; reject(error: Error): void }[] = []
  const load = vi.fn(() => new Promise<string | undefined>((resolve, reject) => waiting.push({ resolve, reject })))
  return {
    load,
    answer: (index: number, value: string | undefined) => waiting[index]?.resolve(value),
    waiting,
  }
}

describe('Cache › get', () => {
  it('returns the cached value for less than a second, then looks it up again', async () => {
    const cache = new Cache<string>()
    const load = vi.fn(async () => `found ${load.mock.calls.length}`)
    expect(await cache.get('a', load)).toBe('found 1')
    vi.advanceTimersByTime(999)
    expect(await cache.get('a', load)).toBe('found 1')
    vi.advanceTimersByTime(1)
    expect(await cache.get('a', load)).toBe('found 2')
  })

  it('keeps the values of different keys apart', async () => {
    const cache = new Cache<string>()
    expect(await cache.get('a', async () => 'one')).toBe('one')
    expect(await cache.get('b', async () => 'two')).toBe('two')
    expect(await cache.get('a', async () => 'three')).toBe('one')
  })

  it('evicts the least recently used of more than 10,000 keys', async () => {
    const cache = new Cache<number>()
    for (let index = 0; index <= 10_000; index += 1) await cache.get(String(index), async () => index)
    const load = vi.fn(async () => -1)
    expect(await cache.get('1', load)).toBe(1)
    expect(await cache.get('10000', load)).toBe(10_000)
    expect(load).not.toHaveBeenCalled()
    expect(await cache.get('0', load)).toBe(-1)
  })
})

describe('Cache › get › concurrent calls for one key', () => {
  it('share one lookup', async () => {
    const cache = new Cache<string>()
    const { load, answer } = slowLookup()
    const all = Array.from({ length: 10 }, () => cache.get('a', load))
    answer(0, 'found')
    expect(new Set(await Promise.all(all))).toEqual(new Set(['found']))
    expect(load).toHaveBeenCalledTimes(1)
  })
})

describe('Cache › get › what is not cached', () => {
  it('does not cache a miss', async () => {
    const cache = new Cache<string>()
    expect(await cache.get('a', async () => undefined)).toBeUndefined()
    expect(await cache.get('a', async () => 'made since')).toBe('made since')
  })

  it('does not cache an error, which rejects all calls that wait for it', async () => {
    const cache = new Cache<string>()
    const { load, waiting } = slowLookup()
    const all = Array.from({ length: 3 }, () => cache.get('a', load))
    waiting[0]?.reject(new Error('the database is down'))
    const outcomes = await Promise.allSettled(all)
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
    expect(await cache.get('a', async () => 'up again')).toBe('up again')
  })

  it('rejects when the lookup fails after a second', async () => {
    const cache = new Cache<string>()
    await cache.get('a', async () => 'found')
    vi.advanceTimersByTime(1000)
    const failed = cache.get('a', () => Promise.reject(new Error('the database is down')))
    await expect(failed).rejects.toThrow('down')
  })
})

describe('Cache › clear', () => {
  it('looks every key up again', async () => {
    const cache = new Cache<string>()
    for (const key of ['a', 'b']) await cache.get(key, async () => 'old')
    cache.clear()
    for (const key of ['a', 'b']) expect(await cache.get(key, async () => 'new')).toBe('new')
  })

  it('neither caches nor shares a lookup that is still running', async () => {
    const cache = new Cache<string>()
    const { load, answer } = slowLookup()
    const before = cache.get('a', load)
    cache.clear()
    const after = cache.get('a', load)
    answer(0, 'old')
    answer(1, 'new')
    expect([await before, await after]).toEqual(['old', 'new'])
    expect(await cache.get('a', load)).toBe('new')
    expect(load).toHaveBeenCalledTimes(2)
  })
})

it('Cache › when lookups are slow, never returns a value that changed more than a second ago or was cleared', async () => {
  const steps = fc.array(
    fc.record({
      pause: fc.nat(600),
      act: fc.constantFrom('get', 'get', 'get', 'change', 'change and clear'),
      sending: fc.nat(1500),
      answering: fc.nat(1500),
    }),
    { minLength: 2, maxLength: 30 },
  )
  await fc.assert(
    fc.asyncProperty(steps, async given => {
      const cache = new Cache<number>()
      const changes: { at: number; version: number; isCleared: boolean }[] = []
      const reads: Promise<{ found: number | undefined; least: number }>[] = []
      let version = 1
      for (const { pause, act, sending, answering } of given) {
        await vi.advanceTimersByTimeAsync(pause)
        const now = performance.now()
        if (act !== 'get') {
          version += 1
          changes.push({ at: now, version, isCleared: act === 'change and clear' })
          if (act === 'change and clear') cache.clear()
          continue
        }
        const least = Math.max(
          1,
          ...changes.filter(({ at, isCleared }) => isCleared || at <= now - 1000).map(one => one.version),
        )
        const look = async () => {
          await later(sending)
          const read = version
          await later(answering)
          return read
        }
        reads.push(cache.get('a', look).then(found => ({ found, least })))
      }
      await vi.advanceTimersByTimeAsync(5000)
      for (const { found, least } of await Promise.all(reads)) expect(found).toBeGreaterThanOrEqual(least)
    }),
    { numRuns: 300 },
  )
})

function later(milliseconds: number): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, milliseconds))
}
