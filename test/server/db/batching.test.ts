import { describe, expect, it } from 'vitest'
import { Batcher } from '../../../server/db/batching.ts'

const fault = (code: string) => Object.assign(new Error(code), { code })

/** An `execute` that records its calls and doubles numbers. A string fails with an error of that code. */
function recorded() {
  const calls: (readonly (number | string)[])[] = []
  const double = async (items: readonly (number | string)[]) => {
    calls.push(items)
    for (const item of items) if (typeof item === 'string') throw fault(item)
    return items.map(item => Number(item) * 2)
  }
  return { calls, double }
}

function runAll(batcher: Batcher<number | string, number>, items: readonly (number | string)[], key = 'a') {
  const { calls, double } = recorded()
  const results = Promise.allSettled(items.map(item => batcher.run(key, item, double)))
  return { calls, results }
}

describe('Batcher › calls in one tick', () => {
  it('run as one batch, and each gets its own result', async () => {
    const { calls, results } = runAll(new Batcher(), [1, 2, 3])
    expect(await results).toMatchObject([{ value: 2 }, { value: 4 }, { value: 6 }])
    expect(calls).toEqual([[1, 2, 3]])
  })

  it('run as one batch per key', async () => {
    const batcher = new Batcher<number | string, number>()
    const [one, other] = [runAll(batcher, [1], 'a'), runAll(batcher, [2], 'b')]
    expect(await Promise.all([one.results, other.results])).toMatchObject([[{ value: 2 }], [{ value: 4 }]])
    expect([one.calls, other.calls]).toEqual([[[1]], [[2]]])
  })

  it('wait neither for later calls nor for an earlier batch', async () => {
    const batcher = new Batcher<number, number>()
    const calls: (readonly number[])[] = []
    const never = (items: readonly number[]) => {
      calls.push(items)
      return new Promise<number[]>(() => {})
    }
    batcher.run('a', 1, never)
    await new Promise(setImmediate)
    const { calls: later, results } = runAll(batcher, [2])
    expect(await results).toMatchObject([{ value: 4 }])
    expect([calls, later]).toEqual([[[1]], [[2]]])
  })
})

describe('Batcher › a batch has an Error among its results', () => {
  it('rejects only the call of that item, without a retry', async () => {
    const batcher = new Batcher<number, number>()
    let calls = 0
    const execute = async (items: readonly number[]) => {
      calls += 1
      return items.map(item => (item === 2 ? fault('23505') : item))
    }
    const results = await Promise.allSettled([1, 2, 3].map(item => batcher.run('a', item, execute)))
    expect(results).toMatchObject([{ value: 1 }, { reason: { code: '23505' } }, { value: 3 }])
    expect(calls).toBe(1)
  })
})

describe('Batcher › a batch fails', () => {
  it.each(['22003', '54000', '23505', '23503', '42P01', 'of no database'])(
    'with %s, which one item can cause, retries each item alone, and only that one fails',
    async code => {
      const { calls, results } = runAll(new Batcher(), [1, code, 3])
      expect(await results).toMatchObject([{ value: 2 }, { status: 'rejected', reason: { code } }, { value: 6 }])
      expect(calls).toEqual([[1, code, 3], [1], [code], [3]])
    },
  )

  it.each(['CONNECTION_CLOSED', '57P01', '40001', '40P01', '25006', '0A000', '53300', '57014', 'ECONNREFUSED'])(
    'with %s, which no single item causes, fails every item without a retry',
    async code => {
      const { calls, results } = runAll(new Batcher(), [1, code, 3])
      expect(await results).toMatchObject([{ reason: { code } }, { reason: { code } }, { reason: { code } }])
      expect(calls).toEqual([[1, code, 3]])
    },
  )

  it('with a single item, fails immediately without a retry', async () => {
    const { calls, results } = runAll(new Batcher(), ['22003'])
    expect(await results).toMatchObject([{ reason: { code: '22003' } }])
    expect(calls).toEqual([['22003']])
  })
})
