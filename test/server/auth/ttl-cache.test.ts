import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Remembered } from '../../../server/auth/ttl-cache.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] }))
afterEach(() => void vi.useRealTimers())

/** A look-up that counts, and that is answered when the test says so. */
function slowLookUp() {
  const waiting: { resolve(value: string | undefined): void; reject(error: Error): void }[] = []
  const load = vi.fn(
    () => new Promise<string | undefined>((resolve, reject) => waiting.push({ resolve, reject })),
  )
  return {
    load,
    answer: (index: number, value: string | undefined) => waiting[index]?.resolve(value),
    waiting,
  }
}

describe('what a look-up found', () => {
  it('is believed for a second, and looked up again after it', async () => {
    const remembered = new Remembered<string>()
    const load = vi.fn(async () => `found ${load.mock.calls.length}`)
    expect(await remembered.get('a', load)).toBe('found 1')
    vi.advanceTimersByTime(999)
    expect(await remembered.get('a', load)).toBe('found 1')
    vi.advanceTimersByTime(1)
    expect(await remembered.get('a', load)).toBe('found 2')
  })

  it('is believed for a second from when the look-up began: what it read may be that old', async () => {
    const remembered = new Remembered<string>()
    const { load, answer } = slowLookUp()
    const first = remembered.get('a', load)
    vi.advanceTimersByTime(900)
    answer(0, 'old')
    expect(await first).toBe('old')
    vi.advanceTimersByTime(100)
    const second = remembered.get('a', load)
    answer(1, 'new')
    expect(await second).toBe('new')
  })

  it('is each key’s own', async () => {
    const remembered = new Remembered<string>()
    expect(await remembered.get('a', async () => 'one')).toBe('one')
    expect(await remembered.get('b', async () => 'two')).toBe('two')
    expect(await remembered.get('a', async () => 'three')).toBe('one')
  })

  it('is kept of ten thousand keys, the oldest goes first', async () => {
    const remembered = new Remembered<number>()
    for (let index = 0; index <= 10_000; index += 1) await remembered.get(String(index), async () => index)
    const load = vi.fn(async () => -1)
    expect(await remembered.get('1', load)).toBe(1)
    expect(await remembered.get('10000', load)).toBe(10_000)
    expect(load).not.toHaveBeenCalled()
    expect(await remembered.get('0', load)).toBe(-1)
  })
})

describe('look-ups at the same time', () => {
  it('of one key are one', async () => {
    const remembered = new Remembered<string>()
    const { load, answer } = slowLookUp()
    const all = Array.from({ length: 10 }, () => remembered.get('a', load))
    answer(0, 'found')
    expect(new Set(await Promise.all(all))).toEqual(new Set(['found']))
    expect(load).toHaveBeenCalledTimes(1)
  })

  it('are not one where the first began a second ago: its answer may be from before', async () => {
    const remembered = new Remembered<string>()
    const { load, answer } = slowLookUp()
    const early = remembered.get('a', load)
    vi.advanceTimersByTime(1000)
    const late = remembered.get('a', load)
    answer(1, 'new')
    expect(await late).toBe('new')
    answer(0, 'old')
    expect(await early).toBe('old')
    expect(await remembered.get('a', load)).toBe('new')
  })
})

describe('what is not remembered', () => {
  it('is that nothing was found', async () => {
    const remembered = new Remembered<string>()
    expect(await remembered.get('a', async () => undefined)).toBeUndefined()
    expect(await remembered.get('a', async () => 'made since')).toBe('made since')
  })

  it('is a failure, which all who wait for it are told', async () => {
    const remembered = new Remembered<string>()
    const { load, waiting } = slowLookUp()
    const all = Array.from({ length: 3 }, () => remembered.get('a', load))
    waiting[0]?.reject(new Error('the database is down'))
    const outcomes = await Promise.allSettled(all)
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
    expect(await remembered.get('a', async () => 'up again')).toBe('up again')
  })

  it('is what was found before a failure, once its second is over: no credential outlives its database', async () => {
    const remembered = new Remembered<string>()
    await remembered.get('a', async () => 'found')
    vi.advanceTimersByTime(1000)
    const failed = remembered.get('a', () => Promise.reject(new Error('the database is down')))
    await expect(failed).rejects.toThrow('down')
  })
})

describe('forget', () => {
  it('has everything looked up again', async () => {
    const remembered = new Remembered<string>()
    for (const key of ['a', 'b']) await remembered.get(key, async () => 'old')
    remembered.forget()
    for (const key of ['a', 'b']) expect(await remembered.get(key, async () => 'new')).toBe('new')
  })

  it('keeps nothing of a look-up under way, and lets nobody join it', async () => {
    const remembered = new Remembered<string>()
    const { load, answer } = slowLookUp()
    const before = remembered.get('a', load)
    remembered.forget()
    const after = remembered.get('a', load)
    answer(0, 'old')
    answer(1, 'new')
    expect([await before, await after]).toEqual(['old', 'new'])
    expect(await remembered.get('a', load)).toBe('new')
    expect(load).toHaveBeenCalledTimes(2)
  })

  it.each(['old', undefined])(
    'keeps what is looked up next, though the one under way ends after it: %s',
    async last => {
      const remembered = new Remembered<string>()
      const { load, answer } = slowLookUp()
      const before = remembered.get('a', load)
      remembered.forget()
      const after = remembered.get('a', load)
      answer(1, 'new')
      expect(await after).toBe('new')
      answer(0, last)
      expect(await before).toBe(last)
      expect(await remembered.get('a', load)).toBe('new')
      expect(load).toHaveBeenCalledTimes(2)
    },
  )
})

it('never believes what changed over a second ago, nor what was forgotten, however slow the look-ups are', async () => {
  const steps = fc.array(
    fc.record({
      pause: fc.nat(600),
      act: fc.constantFrom('get', 'get', 'get', 'change', 'change and forget'),
      sending: fc.nat(1500),
      answering: fc.nat(1500),
    }),
    { minLength: 2, maxLength: 30 },
  )
  await fc.assert(
    fc.asyncProperty(steps, async given => {
      const remembered = new Remembered<number>()
      const changes: { at: number; version: number; isForgotten: boolean }[] = []
      const reads: Promise<{ found: number | undefined; least: number }>[] = []
      let version = 1
      for (const { pause, act, sending, answering } of given) {
        await vi.advanceTimersByTimeAsync(pause)
        const now = performance.now()
        if (act !== 'get') {
          version += 1
          changes.push({ at: now, version, isForgotten: act === 'change and forget' })
          if (act === 'change and forget') remembered.forget()
          continue
        }
        const least = Math.max(
          1,
          ...changes.filter(({ at, isForgotten }) => isForgotten || at <= now - 1000).map(one => one.version),
        )
        const look = async () => {
          await later(sending)
          const read = version
          await later(answering)
          return read
        }
        reads.push(remembered.get('a', look).then(found => ({ found, least })))
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
