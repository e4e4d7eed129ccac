import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'vitest'
import type { ServerProcess } from '../support/server.ts'
import { type Exchange, type Ledger, type Target, write } from './ledger.ts'
import { isSuccess, probe, type Sample, until } from './probe.ts'
import { tally } from './rig.ts'

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
