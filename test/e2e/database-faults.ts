import { setTimeout as delay } from 'node:timers/promises'
import type { Sql } from 'postgres'
import postgres from 'postgres'
import { Agent, request } from 'undici'
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest'
import { useFolder } from '../support/cli.ts'
import { startProxy, type TcpProxy } from '../support/fault-proxy.ts'
import { findPrograms, type Postmaster, startPostmaster } from '../support/postgres.ts'
import { type ServerProcess, startServer } from '../support/server.ts'
import { newAccount } from '../support/service.ts'
import { tally } from './campaign.ts'
import { type Exchange, type Ledger, newLedger, type Target, write } from './ledger.ts'
import { contradictions } from './ledger-check.ts'

/** A question and its answer; times are `performance.now()`. */
export interface Sample {
  readonly at: number
  readonly ms: number
  /** 0 where no answer came. */
  readonly status: number
}

export interface Probe {
  readonly samples: Sample[]
  /** Asks no more, and resolves to everything when the last answer is there. */
  stop(): Promise<Sample[]>
}

/** Milliseconds between two questions. */
const interval = 50

/** Asks a URL at a steady pace, whether or not the questions before are answered. */
export function probe(url: string, headers: Record<string, string> = {}): Probe {
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
    samples.push({ at, ms: performance.now() - at, status })
  }
  const timer = setInterval(() => {
    const asked = ask().finally(() => asking.delete(asked))
    asking.add(asked)
  }, interval)
  return {
    samples,
    stop: async () => {
      clearInterval(timer)
      await Promise.all(asking)
      await agent.close()
      return samples
    },
  }
}

/** Milliseconds from an instant to the first answer after it that is wanted; infinite where none came. */
export function until(
  samples: readonly Sample[],
  since: number,
  isWanted: (status: number) => boolean,
): number {
  const ends = samples.filter(({ status }) => isWanted(status)).map(({ at, ms }) => at + ms - since)
  return ends.filter(end => end >= 0).reduce((one, other) => Math.min(one, other), Number.POSITIVE_INFINITY)
}

export function isSuccess(status: number): boolean {
  return status >= 200 && status < 300
}

/** How the clients of a server fared while something happened to its database; times are `performance.now()`. */
export interface Course {
  readonly exchanges: readonly Exchange[]
  readonly live: readonly Sample[]
  readonly ready: readonly Sample[]
  readonly served: readonly Sample[]
  readonly lostAt: number
  readonly returnedAt: number
  readonly recovery: number
}

export interface Fault {
  lose(): Promise<void>
  /** Milliseconds until it is undone. */
  readonly ms: number
  restore(): Promise<void>
  /** Milliseconds after which all is well again; a second, unless it is said. */
  readonly recovery?: number
}

/** Milliseconds in which every request is answered: the server's deadline of five seconds and half of one to spare. */
const deadline = 5500

const clients = 32

/** Lets a fault happen while clients write, and asks meanwhile whether the server lives, is ready and serves. */
export async function run(target: Target, ledger: Ledger, fault: Fault): Promise<Course> {
  const { recovery = 1000 } = fault
  const headers = { authorization: `Bearer ${target.key}` }
  const live = probe(`${target.url}/live`)
  const ready = probe(`${target.url}/ready`)
  const served = probe(`${target.url}/api/v1/consents?limit=1`, headers)
  let isOver = false
  const writing = write(target, ledger, { clients, pause: 100 }, () => isOver)
  await delay(1000)
  const lostAt = performance.now()
  await fault.lose()
  await delay(fault.ms)
  await fault.restore()
  const returnedAt = performance.now()
  await delay(recovery + 1000)
  isOver = true
  const [, ...samples] = await Promise.all([writing, live.stop(), ready.stop(), served.stop()])
  return {
    exchanges: ledger.exchanges,
    live: samples[0],
    ready: samples[1],
    served: samples[2],
    lostAt,
    returnedAt,
    recovery,
  }
}

/** What must hold whatever happens to the database. */
export function expectKept({ child, output }: ServerProcess, course: Course): void {
  const { exchanges, served, live, returnedAt, recovery } = course
  const asked = [
    ...exchanges,
    ...served.map(sample => ({ ...sample, name: 'list', isExpected: isSuccess(sample.status), said: '' })),
  ]
  const told = (wrong: Exchange[]) =>
    tally(wrong.map(({ name, status, said }) => `${name} ${status} ${said}`))
  expect(child.exitCode ?? child.signalCode, output().slice(-2000)).toBe(null)
  expect(told(asked.filter(({ ms, status }) => status === 0 || ms > deadline)), 'no answer in time').toBe('')
  expect(
    told(asked.filter(({ status, isExpected }) => !isExpected && status !== 503)),
    internalError(output()),
  ).toBe('')
  expect(
    told(asked.filter(({ at, status }) => at > returnedAt + recovery && status === 503)),
    'not well again',
  ).toBe('')
  expect(live.filter(({ status }) => status !== 200)).toEqual([])
  expect(asked.filter(({ status }) => isSuccess(status)).length).toBeGreaterThan(clients)
  expect(firstSuccess(course)).toBeLessThan(recovery)
}

function internalError(output: string): string {
  return output.split('\n').find(line => line.includes('internal_error')) ?? ''
}

/** Milliseconds from the loss of the database to the first `/ready` that tells of it. */
export function unready({ ready, lostAt }: Course): number {
  return until(ready, lostAt, status => status === 503)
}

/** One line on how it went, for people. */
export function summary(name: string, course: Course): string {
  const { exchanges, live, ready, returnedAt } = course
  const counts = new Map<number, number>()
  for (const { status } of exchanges) counts.set(status, (counts.get(status) ?? 0) + 1)
  const statuses = [...counts]
    .sort(([one], [other]) => one - other)
    .map(([status, count]) => `${status}: ${count}`)
  const slowest = (samples: readonly Sample[]) => Math.round(most(samples.map(({ ms }) => ms)))
  const failures = [...exchanges, ...course.served].filter(({ status }) => status === 503)
  const times = {
    'slowest answer': slowest([...exchanges, ...course.served]),
    'slowest /live': slowest(live),
    '/ready 503 after': Math.round(unready(course)),
    'first success after': Math.round(firstSuccess(course)),
    'last 503 after': Math.round(most(failures.map(({ at, ms }) => at + ms - returnedAt))),
    '/ready 200 after': Math.round(until(ready, returnedAt, isSuccess)),
  }
  const told = Object.entries(times).map(([what, ms]) => `${what} ${ms} ms`)
  return `${name}: ${statuses.join(', ')}; ${told.join(', ')}\n`
}

function most(values: readonly number[]): number {
  return values.reduce((one, other) => Math.max(one, other), 0)
}

function firstSuccess({ exchanges, served, returnedAt }: Course): number {
  return until([...exchanges, ...served], returnedAt, isSuccess)
}

/** Whether PostgreSQL can be mistreated: a server that only has an address cannot. */
export const hasStage = findPrograms() !== null

if (!hasStage) {
  process.stderr.write('\n*** SKIPPED: outages and faults of a real PostgreSQL. No initdb was found. ***\n\n')
}

/** A PostgreSQL server of a test file's own that keeps what it commits, with a proxy before it. */
export interface Stage {
  postmaster: Postmaster
  proxy: TcpProxy
  /** Past the proxy, and past the service. */
  sql: Sql
  /** Lets a fault happen to the service under load, and asserts that it keeps its promises. */
  endure(name: string, fault: Fault): Promise<Course>
}

/** Gives a test file its database, and each test a service on it: directly, or through the proxy. */
export function useStage({ proxied, settings }: { proxied: boolean; settings?: string[] }): Stage {
  const folder = useFolder()
  const stage = {} as Stage
  let server: ServerProcess
  beforeAll(async () => {
    stage.postmaster = await startPostmaster({ durable: true, settings: settings ?? [] })
    stage.proxy = await startProxy(Number(new URL(stage.postmaster.url).port))
    stage.sql = postgres(`${stage.postmaster.url}/postgres`, { max: 4, onnotice: () => {} })
  })
  afterAll(async () => {
    await stage.proxy?.close()
    await stage.sql?.end({ timeout: 1 })
    await stage.postmaster?.remove()
  })
  beforeEach(async () => {
    const url = new URL(`${stage.postmaster.url}/postgres`)
    if (proxied) url.port = String(stage.proxy.port)
    const args = ['--database-url', url.href, '--port', '0']
    server = await startServer(args, { HOME: folder.path, LOG_LEVEL: 'error' })
  })
  afterEach(() => server?.end('SIGKILL'))
  stage.endure = async (name, fault) => {
    const target = { url: server.url, ...(await newAccount(stage.sql)) }
    const ledger = newLedger()
    const course = await run(target, ledger, fault)
    process.stderr.write(summary(name, course))
    expectKept(server, course)
    expect(await contradictions(target, stage.sql, ledger)).toEqual([])
    return course
  }
  return stage
}
