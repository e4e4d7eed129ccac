import { describe, expect, it } from 'vitest'
import { Together } from '../../../server/db/batching.ts'

const fault = (code: string) => Object.assign(new Error(code), { code })

/** Work that notes what it is called with, and doubles it; an item that is no number fails with an error of that code. */
function noted() {
  const calls: (readonly (number | string)[])[] = []
  const double = async (items: readonly (number | string)[]) => {
    calls.push(items)
    for (const item of items) if (typeof item === 'string') throw fault(item)
    return items.map(item => Number(item) * 2)
  }
  return { calls, double }
}

function ask(together: Together<number | string, number>, items: readonly (number | string)[], name = 'a') {
  const { calls, double } = noted()
  const asked = Promise.allSettled(items.map(item => together.ask(name, item, double)))
  return { calls, asked }
}

describe('what is asked for in one turn of the event loop', () => {
  it('is one call, and everybody has what is made of his own', async () => {
    const { calls, asked } = ask(new Together(), [1, 2, 3])
    expect(await asked).toMatchObject([{ value: 2 }, { value: 4 }, { value: 6 }])
    expect(calls).toEqual([[1, 2, 3]])
  })

  it('is one for each name', async () => {
    const together = new Together<number | string, number>()
    const [one, other] = [ask(together, [1], 'a'), ask(together, [2], 'b')]
    expect(await Promise.all([one.asked, other.asked])).toMatchObject([[{ value: 2 }], [{ value: 4 }]])
    expect([one.calls, other.calls]).toEqual([[[1]], [[2]]])
  })

  it('waits neither for what comes later nor for what was asked before', async () => {
    const together = new Together<number, number>()
    const calls: (readonly number[])[] = []
    const never = (items: readonly number[]) => {
      calls.push(items)
      return new Promise<number[]>(() => {})
    }
    together.ask('a', 1, never)
    await new Promise(setImmediate)
    const { calls: later, asked } = ask(together, [2])
    expect(await asked).toMatchObject([{ value: 4 }])
    expect([calls, later]).toEqual([[[1]], [[2]]])
  })
})

describe('an error', () => {
  it.each(['22003', '54000', '23505', '23503', '42P01', 'of no database'])(
    'that may be one item’s own (%s) is that item’s alone: each is tried once more by itself',
    async code => {
      const { calls, asked } = ask(new Together(), [1, code, 3])
      expect(await asked).toMatchObject([
        { value: 2 },
        { status: 'rejected', reason: { code } },
        { value: 6 },
      ])
      expect(calls).toEqual([[1, code, 3], [1], [code], [3]])
    },
  )

  it.each([
    'CONNECTION_CLOSED',
    '57P01',
    '40001',
    '40P01',
    '25006',
    '0A000',
    '53300',
    '57014',
    'ECONNREFUSED',
  ])('of the connection or the moment (%s) is everybody’s, and nothing is tried again here', async code => {
    const { calls, asked } = ask(new Together(), [1, code, 3])
    expect(await asked).toMatchObject([{ reason: { code } }, { reason: { code } }, { reason: { code } }])
    expect(calls).toEqual([[1, code, 3]])
  })

  it('of a single one is its own at once', async () => {
    const { calls, asked } = ask(new Together(), ['22003'])
    expect(await asked).toMatchObject([{ reason: { code: '22003' } }])
    expect(calls).toEqual([['22003']])
  })
})
