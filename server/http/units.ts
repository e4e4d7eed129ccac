import { isKeyCaller, type KeyCaller } from '../auth/caller.ts'
import { Failure, unavailable } from '../failure.ts'
import { quotaHeaders, resetOf } from '../quota/month.ts'
import type { Quota, Units } from '../quota/quota.ts'
import type { Exchange } from './route.ts'

/**
 * Does the work of a request that has several rows, for as many of them as there are units of the quota: the gate has
 * spent the first one's. The others are refused, and a row that fails on our side gives its unit back. Throws
 * `unavailable` where the request is over before the work begins.
 */
export async function withUnits<Outcome extends { readonly status: number }>(
  quota: Quota,
  exchange: Exchange,
  { rows, work, refuse }: Rows<Outcome>,
): Promise<Outcome[]> {
  const count = await spendRows(quota, exchange, rows.length)
  const outcomes = await work(rows.slice(0, count))
  const failed = outcomes.filter(({ status }) => status >= 500).length
  if (failed > 0) exchange.request.units?.giveBack(failed)
  const { monthlyQuota } = exchange.caller as KeyCaller
  return [...outcomes, ...rows.slice(count).map(() => refuse(quotaExceeded(monthlyQuota ?? 0, new Date())))]
}

interface Rows<Outcome> {
  readonly rows: readonly unknown[]
  readonly work: (rows: readonly unknown[]) => Promise<Outcome[]>
  readonly refuse: (failure: Failure) => Outcome
}

/** Resolves to how many rows have a unit. Work that is tried again spends nothing anew. */
async function spendRows(
  quota: Quota,
  { request, caller, setHeader }: Exchange,
  rows: number,
): Promise<number> {
  if (!isKeyCaller(caller)) return rows
  const { units } = request
  if (!units) throw tooLate()
  if (units.count > 1 || rows === 1) return Math.min(units.count, rows)
  const more = await quota.spend(caller.accountId, caller.monthlyQuota, rows - 1)
  if (!more) return 1
  if (request.units !== units) {
    more.giveBack() // the request was answered meanwhile, and what it had is given back
    throw tooLate()
  }
  request.units = sum(more, units)
  for (const [name, value] of Object.entries(more.headers)) setHeader(name, value)
  return request.units.count
}

function sum(one: Units, other: Units): Units {
  const count = one.count + other.count
  const giveBack = (units = count) => {
    one.giveBack(Math.min(units, one.count))
    other.giveBack(Math.max(0, units - one.count))
  }
  return { count, headers: one.headers, giveBack }
}

function tooLate() {
  return unavailable('The request was answered before its work began.')
}

/** What is told where no unit is left. */
export function quotaExceeded(limit: number, now: Date): Failure {
  const seconds = Math.ceil(resetOf(now) - now.getTime() / 1000)
  return new Failure('quota_exceeded', 'The monthly quota of this account is used up.', {
    headers: { ...quotaHeaders(limit, limit, now), 'retry-after': String(seconds) },
  })
}
