import type { FastifyContextConfig, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type Access, type Endpoint, type ErrorReason, owners, type Role } from '../../src/contract/index.ts'
import type { Admission } from '../admission.ts'
import {
  type AuthDeps,
  type Caller,
  findCachedCaller,
  findCaller,
  isKeyCaller,
  type KeyCaller,
} from '../auth/caller.ts'
import { requireOwnOrigin } from '../auth/session.ts'
import { databaseTimeoutMs, withRetry } from '../db/errors.ts'
import { Failure, unavailable } from '../failure.ts'
import { type NodeState, requireClock, requireWritable } from '../health/monitor.ts'
import { type Quota, resetOf, type Units } from '../quota/quota.ts'
import { methodNotAllowed, noRoute } from './errors.ts'
import { type RequestContext, retryOptions, withinDeadline } from './route.ts'

declare module 'fastify' {
  interface FastifyRequest {
    isHandled: boolean
    /** Null before authentication and on public routes. */
    caller: Caller | null
    releaseSlot: (() => void) | null
    /** Refunded if the request fails with a server error. */
    units: Units | null
  }
  interface FastifyContextConfig {
    /** Default: `account`, even for unknown routes. */
    access?: Access
    scope?: Endpoint['scope']
    siteKeys?: Endpoint['siteKeys']
    unit?: Endpoint['unit'] | undefined
    statesTime?: boolean | undefined
    roles?: Endpoint['roles']
    bodyMedia?: readonly string[] | undefined
    isRead?: ((body: unknown) => boolean) | undefined
    allow?: string
  }
}

export interface GateDeps extends AuthDeps {
  readonly quota: Quota
  readonly admission: Admission
  readonly publicAdmission: Admission
  readonly state: NodeState
}

/**
 * Checks before the body is read: credential (401), route (404, 405), quota (429), permission (403), in this order;
 * after it, a writable node (503) and a free slot (503).
 */
export function installGate(app: FastifyInstance, deps: GateDeps): void {
  app.decorateRequest('isHandled', false)
  app.decorateRequest('caller', null)
  app.decorateRequest('releaseSlot', null)
  app.decorateRequest('units', null)
  app.decorateRequest('timeLeftMs', databaseTimeoutMs)
  app.addHook('onRequest', async (request, reply) => {
    const { config } = request.routeOptions
    const { access = 'account', allow } = config
    if (access === 'account' || access === 'session') {
      const caller = await authenticate(deps, request)
      if (isKeyCaller(caller) && allow === undefined && !request.is404) {
        await spendForRequest(deps.quota, caller, request, reply)
        requirePermission(caller, config)
      }
      if (caller.role && allow === undefined && !request.is404) requireRole(caller.role, config)
    }
    if (request.is404) throw noRoute()
    if (allow !== undefined) throw methodNotAllowed(allow)
  })
  // Slow clients hold no slot while sending a body.
  app.addHook('preHandler', async request => {
    if (!request.caller) return
    requireState(deps.state, request)
    const admission = request.caller.kind === 'site_token' ? deps.publicAdmission : deps.admission
    const start = performance.now()
    request.releaseSlot = await admission.enter(request.caller.accountId, request.timeLeftMs)
    request.timeLeftMs = Math.max(0, request.timeLeftMs - (performance.now() - start))
  })
  app.addHook('onSend', (request, { statusCode }, _payload, done) => {
    request.releaseSlot?.()
    if (statusCode >= 500) request.units?.giveBack()
    request.units = null // this hook runs again if the response fails while it is sent
    done()
  })
}

/** Rejects a URL that cannot be decoded: 401 without a valid credential, else 404. */
export async function rejectUrl(deps: GateDeps, request: FastifyRequest): Promise<never> {
  await authenticate(deps, request)
  throw noRoute()
}

/**
 * Authenticates, spends a unit and takes a slot.
 * @throws Failure like a new request
 */
export async function runAsNewRequest<T>(
  deps: GateDeps,
  request: FastifyRequest,
  work: (caller: Caller) => Promise<T>,
): Promise<T> {
  request.timeLeftMs = databaseTimeoutMs
  const caller = await authenticate(deps, request)
  const unit = isKeyCaller(caller) ? await findUnit(deps.quota, caller, request) : null
  if (isKeyCaller(caller) && !unit) throw quotaExceeded(deps.quota, caller)
  try {
    const releaseSlot = await deps.admission.enter(caller.accountId, request.timeLeftMs)
    const pending = withRetry(() => work(caller), retryOptions(request, true))
    return await withinDeadline(request, pending).finally(releaseSlot)
  } catch (error) {
    unit?.giveBack()
    throw error
  }
}

export const unsafeMethods: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH', 'DELETE'])

async function authenticate(deps: GateDeps, request: FastifyRequest): Promise<Caller> {
  const caller = findCachedCaller(deps, request) ?? (await lookUpCaller(deps, request))
  request.caller = caller
  if (caller.kind === 'user' && unsafeMethods.has(request.method)) requireOwnOrigin(request)
  return caller
}

function lookUpCaller(deps: GateDeps, request: FastifyRequest): Promise<Caller> {
  const lookup = withRetry(() => findCaller(deps, request), retryOptions(request, true))
  return withinDeadline(request, lookup)
}

/** @throws Failure `read_only` if this node cannot write, or cannot sign a statement of the time */
function requireState(state: NodeState, { method, body, routeOptions: { config } }: FastifyRequest): void {
  if (config.statesTime) requireClock(state)
  else if (unsafeMethods.has(method) && !config.isRead?.(body)) requireWritable(state)
}

function requirePermission({ scopes, siteIds }: KeyCaller, { access, scope, siteKeys }: FastifyContextConfig): void {
  if (access === 'session') throw forbidden('session_required', 'This requires a dashboard session, not an API key.')
  const needed = [scope ?? []].flat()
  if (needed.length > 0 && !needed.some(one => scopes.includes(one)))
    throw forbidden('missing_scope', `The API key lacks the scope ${needed.join(' or ')}.`)
  if (siteIds !== null && siteKeys === 'rejected')
    throw forbidden('site_restricted', 'The API key is restricted to some sites, and this is of the whole account.')
}

function requireRole(role: Role, { roles = owners }: FastifyContextConfig): void {
  if (!roles.includes(role))
    throw forbidden('missing_role', `This requires a user with the role ${roles.join(' or ')}, not ${role}.`)
}

function forbidden(reason: ErrorReason<'forbidden'>, message: string): Failure {
  return new Failure('forbidden', message, { reason })
}

/**
 * Spends a unit and sets the quota's headers, except on free routes.
 * @throws Failure `quota_exceeded`
 */
async function spendForRequest(
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
 * Runs the rows for which there are units; the gate has spent one. Refunds a unit whose rows all fail with a server
 * error.
 * @throws Failure `unavailable` if the response was sent before processing began
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
 * @throws Failure `quota_exceeded` if fewer are left; `unavailable` like `spendPerRow`
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

/** Like `spendForAll` for a route that is never rejected for quota: spends the units that are left. */
export async function spendIfLeft(
  quota: Quota,
  context: RequestContext,
  count: number,
  perUnit: number,
): Promise<void> {
  if (context.request.units) await spendUnits(quota, context, Math.ceil(count / perUnit))
}

/** A retry spends no further units. */
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
  return unavailable('The response was sent before processing began.')
}

function quotaExceeded(quota: Quota, { accountId }: Caller): Failure {
  const now = quota.now()
  const seconds = Math.ceil(resetOf(now) - now.getTime() / 1000)
  return new Failure('quota_exceeded', 'The monthly quota of this account is used up.', {
    headers: { ...quota.exhaustedHeaders(accountId), 'retry-after': String(seconds) },
  })
}
