import { setTimeout as delay } from 'node:timers/promises'
import fc from 'fast-check'
import type { PendingQuery, Row, Sql } from 'postgres'
import { describe, expect, it, vi } from 'vitest'
import { leaseMs, maxLeaseUnits } from '../../../server/quota/lease.ts'
import { monthOf, Quota } from '../../../server/quota/quota.ts'
import { useDatabase } from '../../support/database.ts'
import { newAccount } from '../../support/service.ts'

const database = useDatabase()

/** A lease is at most this part of what is left of the limit. */
const share = 64

interface Usage {
  readonly used: number
  readonly held: number
}

/** An account with a limit, and what its nodes have been granted. */
async function newLedger(limit: number | null) {
  const { accountId } = await newAccount(database.sql, { monthlyQuota: limit })
  const ledger = {
    accountId,
    granted: 0,
    refused: 0,
    /** Spends a unit at a node. */
    async spend(quota: Quota) {
      const unit = await quota.spend(accountId)
      if (unit) ledger.granted += 1
      else ledger.refused += 1
      return unit
    },
    /** Spends many units at once, at one node or another. */
    spendMany: (count: number, ...nodes: Quota[]) =>
      Promise.all(Array.from({ length: count }, (_, index) => ledger.spend(nodes[index % nodes.length] as Quota))),
    async usage(month = monthOf(new Date())): Promise<Usage> {
      const [row] = await database.sql<Usage[]>`
        select used::int, held::int from usage where account_id = ${accountId} and month = ${month}::date`
      return row ?? { used: 0, held: 0 }
    },
  }
  return ledger
}

/** A node's own way to the database: each statement is late both ways. */
function newWire(lags: readonly number[] = [0]) {
  let isCut = false
  let losing: string | undefined
  let count = 0
  const send = async (query: PendingQuery<Row[]>) => {
    count += 1
    await delay(lags[count % lags.length] ?? 0)
    if (isCut) throw failure('ECONNREFUSED')
    const rows = await Promise.resolve(query)
    await delay(lags[count % lags.length] ?? 0)
    if (isCut) throw failure('CONNECTION_CLOSED')
    const code = losing
    losing = undefined
    if (code) throw failure(code)
    return rows
  }
  const sql = (...args: Parameters<Sql>) => {
    const query = database.sql(...args) as unknown as PendingQuery<Row[]>
    // A statement is sent when somebody waits for it; a part of another statement, never.
    return new Proxy(query, {
      get: (target, name) => {
        const value = Reflect.get(target, name, target)
        return name === 'then' ? (...args: [never, never]) => send(target).then(...args) : value
      },
    })
  }
  return {
    sql: sql as unknown as Sql,
    /** Sends nothing more; statements already sent are executed without a response. */
    cut: () => {
      isCut = true
    },
    reconnect: () => {
      isCut = false
    },
    /** The next statement is done, and instead of an answer comes an error with this code. */
    loseAnswer: (code: string) => {
      losing = code
    },
  }
}

function failure(code: string): Error {
  return Object.assign(new Error('the wire is cut'), { code })
}

describe.concurrent('many nodes', () => {
  const cells = [0, 1, 10, 1000].flatMap(limit => [1, 2, 5].map(nodes => ({ limit, nodes })))

  it.each(cells)(
    'when the demand exceeds the limit, $nodes nodes grant exactly the limit of $limit',
    async ({ limit, nodes }) => {
      const ledger = await newLedger(limit)
      const quotas = Array.from({ length: nodes }, () => new Quota(database.sql))
      const demand = Math.ceil(limit * 1.3) + 10
      const clients = Array.from({ length: 20 }, async (_, client) => {
        for (let index = client; index < demand; index += 20) {
          await ledger.spend(quotas[Math.floor(Math.random() * nodes)] as Quota)
        }
      })
      await Promise.all(clients)
      expect(ledger).toMatchObject({ granted: limit, refused: demand - limit })
      await Promise.all(quotas.map(quota => quota.settle()))
      expect(await ledger.usage()).toEqual({ used: limit, held: 0 })
    },
  )

  it.each(cells.filter(({ limit }) => limit > 0))(
    'when the demand equals the limit of $limit, $nodes nodes reject nothing',
    async ({ limit, nodes }) => {
      const ledger = await newLedger(limit)
      const quotas = Array.from({ length: nodes }, () => new Quota(database.sql))
      await ledger.spendMany(limit, ...quotas)
      expect(ledger).toMatchObject({ granted: limit, refused: 0 })
    },
  )

  it('wait for a unit that another node is slow to return', async () => {
    const ledger = await newLedger(640)
    const slow = new Quota(newWire([400]).sql)
    for (let index = 0; index < 6; index += 1) await ledger.spend(slow)
    expect(slow.unspent(ledger.accountId, monthOf(new Date()))).toBeGreaterThan(0)
    await ledger.spendMany(700, new Quota(database.sql))
    expect(ledger.granted).toBe(640)
  })
})

describe.concurrent('a lease', () => {
  it('grows with the rate, up to a fraction of the remaining units and the maximum', async () => {
    const ledger = await newLedger(10 * share)
    const quota = new Quota(database.sql)
    let most = 0
    for (let index = 0; index < 200; index += 1) {
      await ledger.spend(quota)
      most = Math.max(most, quota.unspent(ledger.accountId, monthOf(new Date())))
    }
    expect(most).toBeGreaterThan(1)
    expect(most).toBeLessThan(10)
    const endless = await newLedger(null)
    await endless.spendMany(3 * maxLeaseUnits, quota)
    expect(quota.unspent(endless.accountId, monthOf(new Date()))).toBeLessThanOrEqual(maxLeaseUnits)
  })

  it('is one unit at a low rate, and is not held afterwards', async () => {
    const ledger = await newLedger(1_000_000)
    const quota = new Quota(database.sql)
    for (let used = 1; used <= 3; used += 1) {
      await ledger.spend(quota)
      expect(await ledger.usage()).toEqual({ used, held: 0 })
      await delay(leaseMs + 150)
    }
  })

  it('is returned after a second without requests', async () => {
    const ledger = await newLedger(1_000_000)
    const quota = new Quota(database.sql)
    for (let index = 0; index < 50; index += 1) await ledger.spend(quota)
    expect((await ledger.usage()).held).toBeGreaterThan(0)
    const isBack = async () => expect(await ledger.usage()).toEqual({ used: 50, held: 0 })
    await vi.waitFor(isBack, { timeout: 3 * leaseMs, interval: 50 })
  })

  it('is all that is lost when its node crashes', async () => {
    const ledger = await newLedger(64 * 20)
    const { sql, cut } = newWire()
    const [crashed, other] = [new Quota(sql), new Quota(database.sql)]
    for (let index = 0; index < 100; index += 1) await ledger.spend(crashed)
    const lost = crashed.unspent(ledger.accountId, monthOf(new Date()))
    cut()
    await ledger.spendMany(64 * 20, other)
    expect(lost).toBeGreaterThan(0)
    expect(ledger.granted).toBe(64 * 20 - lost)
    await expect(crashed.settle()).resolves.toBeUndefined()
    expect((await ledger.usage()).used).toBe(64 * 20)
  })
})

describe.concurrent('units that could not be returned', () => {
  it('are returned once the database is reachable again', async () => {
    const ledger = await newLedger(1_000_000)
    const { sql, cut, reconnect } = newWire()
    const quota = new Quota(sql)
    for (let index = 0; index < 50; index += 1) await ledger.spend(quota)
    const { used } = await ledger.usage()
    cut()
    await delay(1.5 * leaseMs)
    expect((await ledger.usage()).used).toBe(used)
    reconnect()
    const isBack = async () => expect(await ledger.usage()).toEqual({ used: 50, held: 0 })
    await vi.waitFor(isBack, { timeout: 5 * leaseMs, interval: 50 })
  })

  const doubtful = 'CONNECTION_CLOSED CONNECTION_DESTROYED ECONNRESET EPIPE ETIMEDOUT EHOSTUNREACH 57P01 57P02 08006'
  it.each(doubtful.split(' '))(
    'are not granted twice when it is unknown whether the return succeeded: %s',
    async code => {
      const ledger = await newLedger(640)
      const { sql, loseAnswer } = newWire()
      const quota = new Quota(sql)
      for (let index = 0; index < 6; index += 1) await ledger.spend(quota)
      expect(quota.unspent(ledger.accountId, monthOf(new Date()))).toBeGreaterThan(0)
      loseAnswer(code)
      await quota.settle()
      expect(await ledger.usage()).toEqual({ used: 6, held: 0 })
      await ledger.spendMany(700, quota, new Quota(database.sql))
      expect(ledger.granted).toBeLessThanOrEqual(640)
    },
  )
})

describe.concurrent('settle', () => {
  it('returns all unspent units of every account', async () => {
    const ledgers = await Promise.all([100, 1000, null].map(newLedger))
    const quota = new Quota(database.sql)
    await Promise.all(ledgers.map((ledger, index) => ledger.spendMany(30 + index, quota)))
    await quota.settle()
    const usages = await Promise.all(ledgers.map(ledger => ledger.usage()))
    expect(usages).toEqual([30, 31, 32].map(used => ({ used, held: 0 })))
    await quota.settle()
    expect(await ledgers[0]?.usage()).toEqual({ used: 30, held: 0 })
  })

  it('does not prevent the node from spending afterwards', async () => {
    const ledger = await newLedger(1000)
    const quota = new Quota(database.sql)
    for (let round = 0; round < 10; round += 1) {
      const spends = ledger.spendMany(7, quota)
      await Promise.all([quota.settle(), spends])
    }
    await quota.settle()
    expect(await ledger.usage()).toEqual({ used: 70, held: 0 })
  })

  it('waits for a return in progress', async () => {
    const ledger = await newLedger(1_000_000)
    const quota = new Quota(newWire([150]).sql)
    for (let index = 0; index < 4; index += 1) await ledger.spend(quota)
    const isHeld = async () => quota.unspent(ledger.accountId, monthOf(new Date())) > 0
    expect(await isHeld()).toBe(true)
    while (await isHeld()) await delay(5)
    await quota.settle()
    expect(await ledger.usage()).toEqual({ used: 4, held: 0 })
  })
})

describe.concurrent('a unit given back', () => {
  it('is given to the next request', async () => {
    const ledger = await newLedger(1)
    const [one, other] = [new Quota(database.sql), new Quota(database.sql)]
    const unit = await ledger.spend(one)
    expect(await ledger.spend(one)).toBeNull()
    unit?.giveBack()
    expect(await ledger.spend(one)).not.toBeNull()
    expect(await ledger.spend(other)).toBeNull()
  })

  it('is given to another node after a settlement', async () => {
    const ledger = await newLedger(1)
    const [one, other] = [new Quota(database.sql), new Quota(database.sql)]
    const unit = await ledger.spend(one)
    unit?.giveBack()
    await one.settle()
    expect(await ledger.usage()).toEqual({ used: 0, held: 0 })
    expect(await ledger.spend(other)).not.toBeNull()
  })

  it('counts towards its own month, even if settled later', async () => {
    let now = new Date('2026-01-31T23:59:59.999Z')
    const ledger = await newLedger(10)
    const quota = new Quota(database.sql, { now: () => now })
    const units = await ledger.spendMany(3, quota)
    await quota.settle()
    now = new Date('2026-02-01T00:00:00.000Z')
    await ledger.spendMany(2, quota)
    units[0]?.giveBack()
    await quota.settle()
    expect(await ledger.usage('2026-01-01')).toEqual({ used: 2, held: 0 })
    expect(await ledger.usage('2026-02-01')).toEqual({ used: 2, held: 0 })
  })
})

describe.concurrent('a month', () => {
  it('is counted exactly under constant load, and starts with the whole limit', async () => {
    let now = new Date('2026-11-30T23:59:59.000Z')
    const ledger = await newLedger(50)
    const quotas = [1, 2, 3].map(() => new Quota(database.sql, { now: () => now }))
    const spent: Record<string, number> = {}
    const spend = async (quota: Quota) => {
      const month = monthOf(now)
      if (await ledger.spend(quota)) spent[month] = (spent[month] ?? 0) + 1
    }
    const spendSome = (count: number) =>
      Promise.all(Array.from({ length: count }, (_, index) => spend(quotas[index % 3] as Quota)))
    const before = spendSome(40)
    now = new Date('2026-12-01T00:00:00.000Z')
    await Promise.all([before, spendSome(60)])
    now = new Date('2027-01-01T00:00:00.000Z')
    await spendSome(5)
    await Promise.all(quotas.map(quota => quota.settle()))
    expect(spent).toEqual({ '2026-11-01': 40, '2026-12-01': 50, '2027-01-01': 5 })
    for (const [month, used] of Object.entries(spent)) expect(await ledger.usage(month)).toEqual({ used, held: 0 })
  })
})

describe.concurrent('while the database is read-only', () => {
  /** A node that finds the database writable or not, and whose settling fails while it is not. */
  const newNode = () => {
    const wire = newWire()
    let canWrite = true
    const quota = new Quota(wire.sql, { canWrite: () => canWrite })
    const setWritable = (isWritable: boolean) => {
      canWrite = isWritable
      if (isWritable) wire.reconnect()
      else wire.cut()
    }
    return { quota, setWritable }
  }

  it('a node spends exactly what it holds, then rejects requests until it can lease again', async () => {
    const ledger = await newLedger(64 * 20)
    const { quota, setWritable } = newNode()
    for (let index = 0; index < 100; index += 1) await ledger.spend(quota)
    const held = quota.unspent(ledger.accountId, monthOf(new Date()))
    expect(held).toBeGreaterThan(2)
    setWritable(false)
    await delay(1.5 * leaseMs) // the lease would have been returned
    const spends = Array.from({ length: held + 5 }, () => quota.spend(ledger.accountId))
    const results = await Promise.allSettled(spends)
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(held)
    expect(results.at(-1)).toMatchObject({ reason: { code: 'read_only', headers: { 'retry-after': '1' } } })
    setWritable(true)
    await ledger.spend(quota)
    await quota.settle()
    expect(await ledger.usage()).toEqual({ used: 101 + held, held: 0 })
  })

  it('an account without a limit is served, and counted afterwards', async () => {
    const ledger = await newLedger(null)
    const { quota, setWritable } = newNode()
    await ledger.spend(quota)
    setWritable(false)
    const month = monthOf(new Date())
    await ledger.spendMany(5000, quota)
    expect(ledger).toMatchObject({ granted: 5001, refused: 0 })
    expect((await ledger.usage()).used - quota.unspent(ledger.accountId, month)).toBe(5001)
    setWritable(true)
    const isCounted = async () => expect(await ledger.usage()).toEqual({ used: 5001, held: 0 })
    await vi.waitFor(isCounted, { timeout: 3 * leaseMs, interval: 50 })
  })

  it('units spent on credit are counted before more are leased', async () => {
    const ledger = await newLedger(null)
    const { quota, setWritable } = newNode()
    await ledger.spend(quota)
    setWritable(false)
    await ledger.spendMany(3000, quota)
    setWritable(true)
    await ledger.spend(quota)
    expect((await ledger.usage()).used).toBeGreaterThanOrEqual(3002)
    await quota.settle()
    expect(await ledger.usage()).toEqual({ used: 3002, held: 0 })
  })

  it.each([
    ['without a limit spends all units at once, some of them on credit', null],
    ['with a limit spends none of more units than are held', 64 * 20],
  ])('an account %s', async (_name, limit) => {
    const ledger = await newLedger(limit)
    const { quota, setWritable } = newNode()
    for (let index = 0; index < 100; index += 1) await ledger.spend(quota)
    const held = quota.unspent(ledger.accountId, monthOf(new Date()))
    expect(held).toBeGreaterThan(0)
    setWritable(false)
    const spend = quota.spend(ledger.accountId, held + 1)
    if (limit === null) expect(await spend).toMatchObject({ count: held + 1 })
    else await expect(spend).rejects.toMatchObject({ code: 'read_only' })
    setWritable(true)
    await quota.settle()
    expect(await ledger.usage()).toEqual({ used: limit === null ? 101 + held : 100, held: 0 })
  })

  it('a node that does not know the limit reads it', async () => {
    const [unlimited, limited, none] = await Promise.all([null, 10, 0].map(newLedger))
    const quota = new Quota(database.sql, { canWrite: () => false })
    expect(await unlimited?.spend(quota)).not.toBeNull()
    await expect(limited?.spend(quota)).rejects.toMatchObject({ code: 'read_only' })
    expect(await none?.spend(quota)).toBeNull()
  })
})

describe.concurrent('a changed limit', () => {
  it('applies to the next lease, up or down, also on a node that treated the account as unlimited', async () => {
    const ledger = await newLedger(null)
    const quota = new Quota(database.sql)
    const change = (limit: number | null) =>
      database.sql`update accounts set monthly_quota = ${limit} where account_id = ${ledger.accountId}`
    await ledger.spend(quota)
    await change(2)
    await ledger.spendMany(2, quota)
    expect(ledger).toMatchObject({ granted: 2, refused: 1 })
    await change(3)
    await delay(250) // a refusal is remembered that long
    await ledger.spendMany(2, quota)
    expect(ledger).toMatchObject({ granted: 3, refused: 2 })
  })
})

/** A course of many nodes: who does what, after how many milliseconds. */
const course = fc.record({
  limit: fc.oneof(fc.constantFrom(0, 1, 10, 1000), fc.nat(300)),
  lags: fc.array(fc.nat(25), { minLength: 1, maxLength: 8 }),
  steps: fc.array(
    fc.record({
      node: fc.nat(4),
      pause: fc.oneof({ weight: 9, arbitrary: fc.nat(40) }, { weight: 1, arbitrary: fc.nat(1200) }),
      count: fc.oneof(fc.nat(5), fc.nat(150)),
      act: fc.constantFrom('spend', 'spend', 'spend', 'spend', 'fail', 'settle', 'crash'),
    }),
    { minLength: 1, maxLength: 12 },
  ),
})
type Course = typeof course extends fc.Arbitrary<infer T> ? T : never

/** Runs a course to its end and expects the promises to have been kept. */
async function run({ limit, lags, steps }: Course): Promise<void> {
  const ledger = await newLedger(limit)
  const newNode = () => {
    const wire = newWire(lags)
    return { crash: () => wire.cut(), quota: new Quota(wire.sql) }
  }
  const nodes = Array.from({ length: 5 }, newNode)
  const work: Promise<unknown>[] = []
  let [given, lost] = [0, 0]
  for (const { node: index, pause, count, act } of steps) {
    await delay(pause)
    const node = nodes[index] as (typeof nodes)[number]
    if (act === 'settle') work.push(node.quota.settle())
    else if (act === 'crash') {
      node.crash()
      lost += node.quota.unspent(ledger.accountId, monthOf(new Date())) + Math.max(1, limit / share)
      nodes[index] = newNode()
    } else {
      for (let request = 0; request < count; request += 1) {
        const spending = ledger.spend(node.quota).catch(() => {
          lost += 1 // a lease whose response was lost may have been taken for this request
          return null
        })
        work.push(spending)
        if (act === 'fail') {
          work.push(
            spending.then(unit => {
              given += unit ? 1 : 0
              unit?.giveBack()
            }),
          )
        }
      }
    }
  }
  await Promise.all(work)
  await Promise.all(nodes.map(({ quota }) => quota.settle()))
  const { granted, refused } = ledger
  if (given === 0 && lost === 0 && refused > 0) expect(granted).toBe(limit)
  expect(granted - given).toBeLessThanOrEqual(limit)
  await ledger.spendMany(limit - granted + given + 1, new Quota(database.sql))
  expect(ledger.granted - given).toBeLessThanOrEqual(limit)
  expect(ledger.granted - given).toBeGreaterThanOrEqual(limit - lost)
  expect((await ledger.usage()).used).toBe(limit)
}

it('in any order of events, never grants too much, and loses at most the leases of crashed nodes', async () => {
  const courses = fc.array(course, { minLength: 40, maxLength: 40 })
  await fc.assert(
    fc.asyncProperty(courses, async given => {
      await Promise.all(given.map(run))
    }),
    { numRuns: 1, endOnFailure: true },
  )
})

it('a refusal states the limit of its lease, even if other limits are forgotten', async () => {
  const ledger = await newLedger(1)
  const quota = new Quota(database.sql)
  await ledger.spend(quota)
  expect(await ledger.spend(quota)).toBeNull()
  for (let other = 0; other < 10_001; other += 1) quota.exhaustedHeaders(`account ${other}`)
  expect(quota.exhaustedHeaders(ledger.accountId)).toMatchObject({ 'x-quota-limit': '1', 'x-quota-remaining': '0' })
})
