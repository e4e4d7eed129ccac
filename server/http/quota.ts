import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Caller, isKeyCaller, type KeyCaller } from '../auth/caller.ts'
import { withRetry } from '../db/errors.ts'
import { Failure, unavailable } from '../failure.ts'
import { type Quota, resetOf, type Units } from '../quota/quota.ts'
import type { RequestContext } from './route.ts'
import { retryOptions, withinDeadline } from './route.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Refunded if the request fails on our side. */
    units: Units | null
  }
}

/**
 * Spends a unit and sets the quota's headers, except on free routes.
 * @throws Failure `quota_exceeded`
 */
export async function spendForRequest(
  quota: Quota,
  caller: KeyCaller,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const { unit: needed } = request.routeOptions.config
  if (needed === 'free') return
  const unit = await findUnit(quota, caller, request)
  if (!unit && needed !== 'optional') throw quotaExceeded(quota, caller)
  reply.headers(unit?.headers ?? quota.exhaustedHeaders(caller.accountId))
  request.units = unit
}

/** @throws Failure `quota_exceeded` */
export async function spendUnit(quota: Quota, caller: KeyCaller, request: FastifyRequest): Promise<Units> {
  const unit = await findUnit(quota, caller, request)
  if (!unit) throw quotaExceeded(quota, caller)
  return unit
}

async function findUnit(quota: Quota, { accountId }: KeyCaller, request: FastifyRequest): Promise<Units | null> {
  const held = quota.spendHeld(accountId)
  if (held) return held
  const spending = withRetry(() => quota.spend(accountId), retryOptions(request, true))
  try {
    return await withinDeadline(request, spending)
  } catch (error) {
    // A unit that arrives after the deadline is refunded.
    spending.then(late => late?.giveBack()).catch(() => {})
    throw error
  }
}

interface RowWork<Result> {
  readonly rows: readonly unknown[]
  readonly rowsPerUnit: number
  readonly run: (rows: readonly unknown[]) => Promise<Result[]>
  readonly reject: (failure: Failure) => Result
}

/**
 * Runs the rows for which there are units; the gate has spent one. Refunds a unit whose rows all fail on our side.
 * @throws Failure `unavailable` if the request was answered before its work began
 */
export async function spendPerRow<Result extends { readonly status: number }>(
  quota: Quota,
  context: RequestContext,
  { rows, rowsPerUnit, run, reject }: RowWork<Result>,
): Promise<Result[]> {
  const units = await spendUnits(quota, context, Math.ceil(rows.length / rowsPerUnit))
  const count = Math.min(rows.length, units * rowsPerUnit)
  const results = await run(rows.slice(0, count))
  const failed = countFailedUnits(results, rowsPerUnit)
  if (failed > 0) context.request.units?.giveBack(failed)
  return [...results, ...rows.slice(count).map(() => reject(quotaExceeded(quota, context.caller)))]
}

function countFailedUnits(results: readonly { readonly status: number }[], rowsPerUnit: number): number {
  let failed = 0
  for (let start = 0; start < results.length; start += rowsPerUnit)
    if (results.slice(start, start + rowsPerUnit).every(({ status }) => status >= 500)) failed += 1
  return failed
}

/**
 * Spends a unit for each `perUnit` of `count`; the gate has spent one.
 * @throws Failure `quota_exceeded` if fewer are left; `unavailable` as `spendPerRow`
 */
export async function spendForAll(
  quota: Quota,
  context: RequestContext,
  count: number,
  perUnit: number,
): Promise<void> {
  const wanted = Math.ceil(count / perUnit)
  if ((await spendUnits(quota, context, wanted)) >= wanted) return
  context.request.units?.giveBack()
  throw quotaExceeded(quota, context.caller)
}

/** A retry spends none again. */
async function spendUnits(
  quota: Quota,
  { request, caller, setHeader }: RequestContext,
  wanted: number,
): Promise<number> {
  if (!isKeyCaller(caller)) return wanted
  const { units } = request
  if (!units) throw alreadyAnswered()
  if (units.count > 1 || wanted === 1) return Math.min(units.count, wanted)
  const more = await quota.spend(caller.accountId, wanted - 1)
  if (!more) return 1
  if (request.units !== units) {
    more.giveBack()
    throw alreadyAnswered()
  }
  request.units = addUnits(more, units)
  for (const [name, value] of Object.entries(more.headers)) setHeader(name, value)
  return request.units.count
}

function addUnits(one: Units, other: Units): Units {
  const count = one.count + other.count
  const giveBack = (units = count) => {
    one.giveBack(Math.min(units, one.count))
    other.giveBack(Math.max(0, units - one.count))
  }
  return { count, headers: one.headers, giveBack }
}

function alreadyAnswered(): Failure {
  return unavailable('The request was answered before its work began.')
}

function quotaExceeded(quota: Quota, { accountId }: Caller): Failure {
  const now = quota.now()
  const seconds = Math.ceil(resetOf(now) - now.getTime() / 1000)
  return new Failure('quota_exceeded', 'The monthly quota of this account is used up.', {
    headers: { ...quota.exhaustedHeaders(accountId), 'retry-after': String(seconds) },
  })
}
