import { setTimeout as delay } from 'node:timers/promises'
import type { Sql } from 'postgres'
import postgres from 'postgres'
import { Agent, request } from 'undici'
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest'
import { useFolder } from '../support/cli.ts'
import { type FaultProxy, startFaultProxy } from '../support/fault-proxy.ts'
import { findPrograms, type PostgresServer, startPostgres } from '../support/postgres.ts'
import { type ServerProcess, startServer } from '../support/server.ts'
import { newAccount } from '../support/service.ts'
import { tally } from './campaign.ts'
import { type Ledger, type LoggedRequest, newLedger, type Target, write } from './ledger.ts'
import { findContradictions } from './ledger-check.ts'

/** A request and its response. Times are `performance.now()`. */
interface Sample {
  readonly at: number
  readonly durationMs: number
  /** 0 if no response came. */
  readonly status: number
}

/** Milliseconds between two requests. */
const interval = 50

/**
 * Requests a URL at a steady rate, even while earlier requests have no response. Returns a function that stops, and resolves to all
 * samples when the last response has come.
 */
function poll(url: string, headers: Record<string, string> = {}): () => Promise<Sample[]> {
  const agent = new Agent({ headersTimeout: 15_000 })
  const samples: Sample[] = []
  const asking = new Set<Promise<void>>()
  const ask = async () => {
    const at = performance.now()
    let status = 0
    try {
      const { statusCode, body } = await request(url, { headers, dispatcher: agent })
      await body.dump()
      status = statusCode
    } catch {
      // No answer is what its status says.
    }
    samples.push({ at, durationMs: performance.now() - at, status })
  }
  const timer = setInterval(() => {
    const sent = ask().finally(() => asking.delete(sent))
    asking.add(sent)
  }, interval)
  return async () => {
    clearInterval(timer)
    await Promise.all(asking)
    await agent.close()
    return samples
  }
}

/** Returns the milliseconds from an instant to the first wanted response after it; Infinity if none came. */
export function msUntil(samples: readonly Sample[], since: number, isWanted: (status: number) => boolean): number {
  const ends = samples.filter(({ status }) => isWanted(status)).map(({ at, durationMs }) => at + durationMs - since)
  return ends.filter(end => end >= 0).reduce((one, other) => Math.min(one, other), Number.POSITIVE_INFINITY)
}

export function isSuccess(status: number): boolean {
  return status >= 200 && status < 300
}

/** The requests of clients while a fault happened to the database of their server. Times are `performance.now()`. */
export interface LoadReport {
  readonly requests: readonly LoggedRequest[]
  readonly live: readonly Sample[]
  readonly ready: readonly Sample[]
  readonly served: readonly Sample[]
  readonly lostAt: number
  readonly returnedAt: number
  readonly recoveryMs: number
}

export interface Fault {
  begin(): Promise<void>
  /** Milliseconds until it is undone. */
  readonly durationMs: number
  end(): Promise<void>
  /** Milliseconds after which all is well again; default: 1000. */
  readonly recoveryMs?: number
}

/** Longest time of a request in milliseconds: the server's deadline of 5 s, and 0.5 s of tolerance. */
const deadline = 5500

const clients = 32

/** Runs a fault while clients write, and polls /live, /ready and a list meanwhile. */
export async function runFault(target: Target, ledger: Ledger, fault: Fault): Promise<LoadReport> {
  const { recoveryMs = 1000 } = fault
  const headers = { authorization: `Bearer ${target.key}` }
  const stopLive = poll(`${target.url}/live`)
  const stopReady = poll(`${target.url}/ready`)
  const stopServed = poll(`${target.url}/api/v1/consents?limit=1`, headers)
  let isOver = false
  const writing = write(target, ledger, { clients, pause: 100 }, () => isOver)
  await delay(1000)
  const lostAt = performance.now()
  await fault.begin()
  await delay(fault.durationMs)
  await fault.end()
  const returnedAt = performance.now()
  await delay(recoveryMs + 1000)
  isOver = true
  const [live, ready, served] = await Promise.all([stopLive(), stopReady(), stopServed(), writing])
  return { requests: ledger.requests, live, ready, served, lostAt, returnedAt, recoveryMs }
}

/** Expects what must hold in any fault of the database: no crash, no late response, no error but 503, a quick recovery. */
export function expectPromisesKept({ child, output }: ServerProcess, report: LoadReport): void {
  const { requests, served, live, returnedAt, recoveryMs } = report
  const lists = served.map(sample => ({
    ...sample,
    name: 'list',
    isExpected: isSuccess(sample.status),
    responseBody: '',
  }))
  const sent = [...requests, ...lists]
  const describeAll = (wrong: LoggedRequest[]) =>
    tally(wrong.map(({ name, status, responseBody }) => `${name} ${status} ${responseBody}`))
  expect(child.exitCode ?? child.signalCode, output().slice(-2000)).toBe(null)
  expect(
    describeAll(sent.filter(({ durationMs, status }) => status === 0 || durationMs > deadline)),
    'no answer in time',
  ).toBe('')
  expect(
    describeAll(sent.filter(({ status, isExpected }) => !isExpected && status !== 503)),
    internalError(output()),
  ).toBe('')
  expect(
    describeAll(sent.filter(({ at, status }) => at > returnedAt + recoveryMs && status === 503)),
    'not well again',
  ).toBe('')
  expect(live.filter(({ status }) => status !== 200)).toEqual([])
  expect(sent.filter(({ status }) => isSuccess(status)).length).toBeGreaterThan(clients)
  expect(firstSuccess(report)).toBeLessThan(recoveryMs)
}

function internalError(output: string): string {
  return output.split('\n').find(line => line.includes('internal_error')) ?? ''
}

/** Milliseconds from the loss of the database to the first `/ready` that tells of it. */
export function msUntilUnready({ ready, lostAt }: LoadReport): number {
  return msUntil(ready, lostAt, status => status === 503)
}

/** Returns a report of one line for people. */
export function summary(name: string, report: LoadReport): string {
  const { requests, live, ready, returnedAt } = report
  const counts = new Map<number, number>()
  for (const { status } of requests) counts.set(status, (counts.get(status) ?? 0) + 1)
  const statuses = [...counts].sort(([one], [other]) => one - other).map(([status, count]) => `${status}: ${count}`)
  const slowest = (samples: readonly Sample[]) => Math.round(most(samples.map(({ durationMs }) => durationMs)))
  const failures = [...requests, ...report.served].filter(({ status }) => status === 503)
  const times = {
    'slowest answer': slowest([...requests, ...report.served]),
    'slowest /live': slowest(live),
    '/ready 503 after': Math.round(msUntilUnready(report)),
    'first success after': Math.round(firstSuccess(report)),
    'last 503 after': Math.round(most(failures.map(({ at, durationMs }) => at + durationMs - returnedAt))),
    '/ready 200 after': Math.round(msUntil(ready, returnedAt, isSuccess)),
  }
  const lines = Object.entries(times).map(([what, ms]) => `${what} ${ms} ms`)
  return `${name}: ${statuses.join(', ')}; ${lines.join(', ')}\n`
}

function most(values: readonly number[]): number {
  return values.reduce((one, other) => Math.max(one, other), 0)
}

function firstSuccess({ requests, served, returnedAt }: LoadReport): number {
  return msUntil([...requests, ...served], returnedAt, isSuccess)
}

/** True if the tests can start and break a PostgreSQL server of their own. */
export const canBreakDatabase = findPrograms() !== null

if (!canBreakDatabase) {
  process.stderr.write('\n*** SKIPPED: outages and faults of a real PostgreSQL. No initdb was found. ***\n\n')
}

/** A PostgreSQL server of a test file's own that keeps what it commits, with a proxy before it. */
export interface FaultyDatabase {
  postgres: PostgresServer
  proxy: FaultProxy
  /** Past the proxy, and past the service. */
  sql: Sql
  /** Runs a fault under load, and asserts that the service keeps its promises. */
  runUnderLoad(name: string, fault: Fault): Promise<LoadReport>
}

/** Gives a test file its database, and each test a service on it: directly, or through the proxy. */
export function useFaultyDatabase({ proxied, settings }: { proxied: boolean; settings?: string[] }): FaultyDatabase {
  const folder = useFolder()
  const database = {} as FaultyDatabase
  let server: ServerProcess
  beforeAll(async () => {
    database.postgres = await startPostgres({ durable: true, settings: settings ?? [] })
    database.proxy = await startFaultProxy(Number(new URL(database.postgres.url).port))
    database.sql = postgres(`${database.postgres.url}/postgres`, { max: 4, onnotice: () => {} })
  })
  afterAll(async () => {
    await database.proxy?.close()
    await database.sql?.end({ timeout: 1 })
    await database.postgres?.remove()
  })
  beforeEach(async () => {
    const url = new URL(`${database.postgres.url}/postgres`)
    if (proxied) url.port = String(database.proxy.port)
    const args = ['--database-url', url.href, '--port', '0']
    server = await startServer(args, { HOME: folder.path, LOG_LEVEL: 'error' })
  })
  afterEach(() => server?.end('SIGKILL'))
  database.runUnderLoad = async (name, fault) => {
    const target = { url: server.url, ...(await newAccount(database.sql)) }
    const ledger = newLedger()
    const report = await runFault(target, ledger, fault)
    process.stderr.write(summary(name, report))
    expectPromisesKept(server, report)
    expect(await findContradictions(target, database.sql, ledger)).toEqual([])
    return report
  }
  return database
}
