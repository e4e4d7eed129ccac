import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import fc from 'fast-check'
import type { Sql } from 'postgres'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Admission, type AdmissionLimits, type Load } from '../../server/admission.ts'
import { Failure } from '../../server/failure.ts'
import type { Observer } from '../../server/http/logging.ts'
import { Quota } from '../../server/quota/quota.ts'
import { type TestAccount, useService } from '../support/service.ts'

const usual: AdmissionLimits = { running: 4, perTenant: 3, waiting: 5 }

/** An Admission that records the order of entries and releases slots by name. */
function newDoor(limits: AdmissionLimits = usual) {
  const admission = new Admission(limits)
  const entered: string[] = []
  const refused: string[] = []
  const leaves = new Map<string, () => void>()
  return {
    admission,
    entered,
    refused,
    /** Requests a slot; the outcome shows after the next turn of the event loop. */
    ask(tenant: string, request: string) {
      admission.enter(tenant).then(
        leave => {
          leaves.set(request, leave)
          entered.push(request)
        },
        () => refused.push(request),
      )
    },
    async leave(request: string) {
      leaves.get(request)?.()
      await settled()
    },
  }
}

/** Waits until all promises that can settle have settled. */
const settled = () => new Promise(setImmediate)

describe('Admission › slots', () => {
  it('are granted immediately up to the limits, in total and per tenant', async () => {
    const { admission, entered, ask } = newDoor()
    for (const request of ['a1', 'a2', 'a3', 'a4']) ask('a', request)
    for (const request of ['b1', 'b2']) ask('b', request)
    await settled()
    expect(entered).toEqual(['a1', 'a2', 'a3', 'b1'])
    expect(admission.load).toEqual({ running: 4, waiting: 2, shed: 0 })
  })

  it('are granted to tenants in turn, regardless of how many requests one tenant has queued', async () => {
    const { entered, ask, leave } = newDoor({ running: 2, perTenant: 2, waiting: 100 })
    for (let index = 1; index <= 50; index += 1) ask('a', `a${index}`)
    for (const request of ['b1', 'b2', 'c1', 'b3']) ask(request.charAt(0), request)
    await settled()
    for (const request of ['a1', 'a2']) await leave(request)
    for (let index = 2; index < 9; index += 1) await leave(entered[index] ?? '')
    expect(entered.slice(2)).toEqual(['a3', 'b1', 'c1', 'a4', 'b2', 'a5', 'b3', 'a6', 'a7'])
  })

  it('are released once when release is called twice', async () => {
    const { admission, entered, ask } = newDoor({ running: 1, perTenant: 1, waiting: 5 })
    const leave = await admission.enter('a')
    for (const request of ['a2', 'a3']) ask('a', request)
    leave()
    leave()
    await settled()
    expect(entered).toEqual(['a2'])
    expect(admission.load).toMatchObject({ running: 1, waiting: 1 })
  })
})

describe('Admission › 503', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
  afterEach(() => void vi.useRealTimers())

  it('is returned immediately when the tenant’s queue is full, but not to other tenants', async () => {
    const { refused, ask, admission } = newDoor()
    for (let index = 1; index <= 10; index += 1) ask('a', `a${index}`)
    for (let index = 1; index <= 3; index += 1) ask('b', `b${index}`)
    await settled()
    expect(refused).toEqual(['a9', 'a10'])
    expect(admission.load).toEqual({ running: 4, waiting: 7, shed: 2 })
  })

  it('is returned with Retry-After after a second in the queue', async () => {
    const { admission } = newDoor({ running: 1, perTenant: 1, waiting: 5 })
    await admission.enter('a')
    const waits = admission.enter('b')
    const outcome = waits.then(
      () => 'entered',
      error => error,
    )
    await vi.advanceTimersByTimeAsync(999)
    expect(admission.load.waiting).toBe(1)
    await vi.advanceTimersByTimeAsync(1)
    const failure = await outcome
    expect(failure).toBeInstanceOf(Failure)
    expect(failure).toMatchObject({ code: 'unavailable', headers: { 'retry-after': '1' } })
    expect(admission.load).toEqual({ running: 1, waiting: 0, shed: 1 })
  })

  it('is returned sooner to a request with less time left', async () => {
    const { admission } = newDoor({ running: 1, perTenant: 1, waiting: 5 })
    await admission.enter('a')
    const refused = expect(admission.enter('b', 200)).rejects.toBeInstanceOf(Failure)
    await vi.advanceTimersByTimeAsync(200)
    await refused
  })

  it('takes no slot: a rejected request never starts later', async () => {
    const { admission, entered, refused, ask, leave } = newDoor({ running: 1, perTenant: 1, waiting: 5 })
    ask('a', 'a1')
    ask('b', 'b1')
    await vi.advanceTimersByTimeAsync(500)
    ask('b', 'b2')
    await vi.advanceTimersByTimeAsync(500)
    await leave('a1')
    expect([entered, refused]).toEqual([['a1', 'b2'], ['b1']])
    await leave('b2')
    expect(admission.load).toMatchObject({ running: 0, waiting: 0 })
  })

  it('is not returned a second later to a request that has started', async () => {
    const { refused, ask, leave } = newDoor({ running: 1, perTenant: 1, waiting: 5 })
    ask('a', 'a1')
    ask('a', 'a2')
    await settled()
    await leave('a1')
    await vi.advanceTimersByTimeAsync(2000)
    expect(refused).toEqual([])
  })
})

it('Admission › for any sequence of calls, keeps its limits, leaves no slot idle while requests wait, and gets all slots back', async () => {
  const limits = fc.record({
    running: fc.integer({ min: 1, max: 5 }),
    perTenant: fc.integer({ min: 1, max: 5 }),
    waiting: fc.nat(6),
  })
  const steps = fc.array(fc.oneof(fc.constantFrom('a', 'b', 'c'), fc.nat(20)), { maxLength: 60 })
  await fc.assert(
    fc.asyncProperty(limits, steps, async (limits, steps) => {
      const admission = new Admission(limits)
      const inside: { tenant: string; leave: () => void }[] = []
      const asked: Record<string, number> = { a: 0, b: 0, c: 0 }
      const had: Record<string, number> = { a: 0, b: 0, c: 0 }
      const check = () => {
        const of = (tenant: string) => inside.filter(one => one.tenant === tenant).length
        expect(inside.length).toBeLessThanOrEqual(limits.running)
        for (const tenant of ['a', 'b', 'c']) {
          const waiting = (asked[tenant] ?? 0) - (had[tenant] ?? 0)
          expect(of(tenant)).toBeLessThanOrEqual(limits.perTenant)
          expect(waiting).toBeLessThanOrEqual(limits.waiting)
          if (waiting > 0 && of(tenant) < limits.perTenant) expect(inside.length).toBe(limits.running)
        }
        expect(admission.load.running).toBe(inside.length)
      }
      for (const step of steps) {
        if (typeof step === 'number') inside.splice(step % (inside.length || 1), 1)[0]?.leave()
        else {
          asked[step] = (asked[step] ?? 0) + 1
          admission.enter(step).then(
            leave => {
              had[step] = (had[step] ?? 0) + 1
              inside.push({ tenant: step, leave })
            },
            () => {
              asked[step] = (asked[step] ?? 0) - 1
            },
          )
        }
        await settled()
        check()
      }
      while (inside.length > 0) {
        inside.shift()?.leave()
        await settled()
        check()
      }
      expect(had).toEqual(asked)
      expect(admission.load).toMatchObject({ running: 0, waiting: 0 })
    }),
    { numRuns: 200 },
  )
})

describe('Admission › over HTTP', () => {
  let load: () => Load = () => ({ running: 0, waiting: 0, shed: 0 })
  const observer: Observer = {
    onRequestEnd: () => {},
    watchLoad: (flow, read) => {
      if (flow === 'private') load = read
    },
  }
  /** Needs no database, so that requests get a slot while the database blocks. */
  class NoQuota extends Quota {
    override async spend() {
      return { count: 1, headers: {}, giveBack: () => {} }
    }
  }
  const service = useService({ observer, quota: new NoQuota({} as Sql) })
  const root = '/api/v1/consents'

  it('releases the slot of a request when its client disconnects', async () => {
    const account = await service.newAccount()
    await service.call('GET', root, { key: account.key })
    await whileConsentsWait(async () => {
      const sockets = await Promise.all(Array.from({ length: 35 }, () => ask(account)))
      await vi.waitFor(() => expect(load().running).toBe(30), { timeout: 5000 })
      for (const socket of sockets) socket.destroy()
    })
    await vi.waitFor(() => expect(load()).toMatchObject({ running: 0, waiting: 0 }), { timeout: 10_000 })
    const answers = Array.from({ length: 60 }, () => service.call('GET', root, { key: account.key }))
    expect(new Set((await Promise.all(answers)).map(({ status }) => status))).toEqual(new Set([200]))
    expect(load()).toMatchObject({ running: 0, waiting: 0 })
  })

  it('takes no slot until the body has arrived', async () => {
    const account = await service.newAccount()
    const head = { 'content-type': 'application/json', 'content-length': '100' }
    const sockets = await Promise.all(Array.from({ length: 50 }, () => ask(account, 'POST', head)))
    const { status } = await service.call('GET', root, { key: account.key })
    expect(status).toBe(200)
    expect(load()).toMatchObject({ running: 0, waiting: 0 })
    for (const socket of sockets) socket.destroy()
  })

  it('when a request waits a second without getting a slot, responds 503 with Retry-After', async () => {
    const account = await service.newAccount()
    await service.call('GET', root, { key: account.key })
    await whileConsentsWait(async () => {
      const sockets = await Promise.all(Array.from({ length: 30 }, () => ask(account)))
      await vi.waitFor(() => expect(load().running).toBe(30), { timeout: 5000 })
      const late = await ask(account)
      const start = performance.now()
      const [chunk] = await once(late, 'data')
      expect(performance.now() - start).toBeGreaterThan(900)
      expect(String(chunk)).toMatch(/^HTTP\/1\.1 503 .*retry-after: 1\r\n.*"error":"unavailable"/is)
      for (const socket of [...sockets, late]) socket.destroy()
    })
    await vi.waitFor(() => expect(load()).toMatchObject({ running: 0, waiting: 0 }), { timeout: 10_000 })
  })

  /** Sends the head of a request on a connection of its own. */
  async function ask({ key }: TestAccount, method = 'GET', headers: Record<string, string> = {}): Promise<Socket> {
    const socket = connect(Number(new URL(service.url).port), '127.0.0.1')
    socket.on('error', () => {})
    await once(socket, 'connect')
    const lines = Object.entries({ host: 'localhost', authorization: `Bearer ${key}`, ...headers })
    const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')
    socket.write(`${method} ${root} HTTP/1.1\r\n${head}\r\n`)
    return socket
  }

  /** Runs `work` while every read of records waits for the database. */
  async function whileConsentsWait(work: () => Promise<void>): Promise<void> {
    await service.sql.begin(async tx => {
      await tx`lock table consents in access exclusive mode`
      await work()
    })
  }
})
