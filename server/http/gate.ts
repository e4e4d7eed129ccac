import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Access, Scope } from '../../src/contract/index.ts'
import type { Admission } from '../admission.ts'
import {
  type AuthDeps,
  type Caller,
  findCaller,
  isKeyCaller,
  type KeyCaller,
  recallCaller,
} from '../auth/caller.ts'
import { requireOwnOrigin } from '../auth/session.ts'
import { withRetry } from '../db/errors.ts'
import { Failure, unavailable } from '../failure.ts'
import { type Quota, quotaHeaders, resetOf, type Units } from '../quota/quota.ts'
import { noRoute, wrongMethod } from './errors.ts'
import { deadline, type Exchange, inTime, retriesOf } from './route.ts'

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
function quotaExceeded(limit: number, now: Date): Failure {
  const seconds = Math.ceil(resetOf(now) - now.getTime() / 1000)
  return new Failure('quota_exceeded', 'The monthly quota of this account is used up.', {
    headers: { ...quotaHeaders(limit, limit, now), 'retry-after': String(seconds) },
  })
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Who sent it; null before that is known, and for what answers anyone. */
    caller: Caller | null
    /** Gives up its place among the requests in flight. */
    leave: (() => void) | null
    /** What it has spent of a quota; given back when it fails on our side. */
    units: Units | null
    /** Milliseconds that it may still wait for the database. */
    patience: number
  }
  interface FastifyContextConfig {
    /** Whom it answers; an account where it is not said, and what is no route at all. */
    access?: Access
    /** The scope that a key needs. */
    scope?: Scope | undefined
    /** Whether it is done without a unit where none is left. */
    neverRefused?: boolean | undefined
    /** The methods that this path has, where the request's is none of them. */
    allow?: string
  }
}

export interface GateDeps extends AuthDeps {
  readonly quota: Quota
  readonly admission: Admission
  /** The public flow's own: a flood of it takes no place of the private API. */
  readonly publicAdmission: Admission
}

/**
 * Who may pass, before anything of a request is parsed: the credential first, then the route, then the quota, then what
 * the caller may do (`unauthorized`, `not_found`, `quota_exceeded`, `forbidden`).
 */
export function installGate(app: FastifyInstance, deps: GateDeps): void {
  app.decorateRequest('caller', null)
  app.decorateRequest('leave', null)
  app.decorateRequest('units', null)
  app.decorateRequest('patience', deadline)
  app.addHook('onRequest', async (request, reply) => {
    const { access = 'account', allow, scope } = request.routeOptions.config
    if (access === 'account' || access === 'session') {
      const caller = await authenticate(deps, request)
      if (isKeyCaller(caller) && allow === undefined && !request.is404) {
        await spend(deps.quota, caller, request, reply)
        if (access === 'session') throw forbidden('This needs a dashboard session; an API key will not do.')
        if (scope && !caller.scopes.includes(scope)) throw forbidden(`The API key lacks the scope ${scope}.`)
      }
    }
    if (request.is404) throw noRoute()
    if (allow !== undefined) throw wrongMethod(allow)
  })
  // Once the body is there, and until the answer is ready: how slow a client sends and reads takes nobody's place.
  app.addHook('preHandler', async request => {
    if (!request.caller) return
    const admission = request.caller.kind === 'site_token' ? deps.publicAdmission : deps.admission
    const start = performance.now()
    request.leave = await admission.enter(request.caller.accountId, request.patience)
    request.patience = Math.max(0, request.patience - (performance.now() - start))
  })
  app.addHook('onSend', (request, { statusCode }, _payload, done) => {
    request.leave?.()
    if (statusCode >= 500) request.units?.giveBack()
    request.units = null // an answer that fails on its way out is answered once more
    done()
  })
}

/** A stranger is told nothing, not even that a URL cannot be decoded. */
export async function refuseUrl(deps: GateDeps, request: FastifyRequest): Promise<never> {
  await authenticate(deps, request)
  throw noRoute()
}

const unsafe = new Set(['POST', 'PUT', 'PATCH', 'DELETE'])

async function authenticate(deps: GateDeps, request: FastifyRequest): Promise<Caller> {
  const caller = recallCaller(deps, request) ?? (await findInTime(deps, request))
  request.caller = caller
  if (caller.kind === 'user' && unsafe.has(request.method)) requireOwnOrigin(request)
  return caller
}

function findInTime(deps: GateDeps, request: FastifyRequest): Promise<Caller> {
  return inTime(
    request,
    withRetry(() => findCaller(deps, request), retriesOf(request, true)),
  )
}

/**
 * Does the work for a further page of a stream as a request of its own would be done: for the caller as known by now, for a
 * unit of the quota, in its turn and within the deadline. Throws what such a request would be refused with.
 */
export async function passAgain<T>(
  deps: GateDeps,
  request: FastifyRequest,
  work: (caller: Caller) => Promise<T>,
): Promise<T> {
  request.patience = deadline
  const caller = await authenticate(deps, request)
  const unit = isKeyCaller(caller) ? await spendOne(deps.quota, caller, request) : null
  if (isKeyCaller(caller) && !unit) throw quotaExceeded(caller.monthlyQuota ?? 0, new Date())
  try {
    const leave = await deps.admission.enter(caller.accountId, request.patience)
    const pending = withRetry(() => work(caller), retriesOf(request, true))
    return await inTime(request, pending).finally(leave)
  } catch (error) {
    unit?.giveBack()
    throw error
  }
}

/** Spends a unit, which is given back when the request fails on our side; what is never refused goes without one if need be. */
async function spend(
  quota: Quota,
  caller: KeyCaller,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const unit = await spendOne(quota, caller, request)
  const limit = caller.monthlyQuota ?? 0
  if (!unit && !request.routeOptions.config.neverRefused) throw quotaExceeded(limit, new Date())
  reply.headers(unit?.headers ?? quotaHeaders(limit, limit, new Date()))
  request.units = unit
}

/** Resolves to null where no unit is left. */
async function spendOne(
  quota: Quota,
  { accountId, monthlyQuota }: KeyCaller,
  request: FastifyRequest,
): Promise<Units | null> {
  const held = quota.spendHeld(accountId, monthlyQuota)
  if (held) return held
  const spending = withRetry(() => quota.spend(accountId, monthlyQuota), retriesOf(request, true))
  try {
    return await inTime(request, spending)
  } catch (error) {
    // What is spent after the deadline was spent on a 503.
    spending.then(late => late?.giveBack()).catch(() => {})
    throw error
  }
}

function forbidden(message: string): Failure {
  return new Failure('forbidden', message)
}
