import type { FastifyContextConfig, FastifyInstance, FastifyRequest } from 'fastify'
import type { Access, Endpoint, ErrorReason } from '../../src/contract/index.ts'
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
import { Failure } from '../failure.ts'
import { type NodeState, requireClock, requireWritable } from '../health/state.ts'
import type { Quota } from '../quota/quota.ts'
import { methodNotAllowed, noRoute } from './errors.ts'
import { spendForRequest, spendUnit } from './quota.ts'
import { retryOptions, withinDeadline } from './route.ts'

declare module 'fastify' {
  interface FastifyRequest {
    isHandled: boolean
    /** Null before authentication and on public routes. */
    caller: Caller | null
    releaseSlot: (() => void) | null
  }
  interface FastifyContextConfig {
    /** Default: `account`, even for unknown routes. */
    access?: Access
    scope?: Endpoint['scope']
    unit?: Endpoint['unit'] | undefined
    statesTime?: boolean | undefined
    allowsReader?: boolean | undefined
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
      if (caller.role === 'reader' && allow === undefined && !request.is404) requireRead(request)
    }
    if (request.is404) throw noRoute()
    if (allow !== undefined) throw methodNotAllowed(allow)
  })
  // Slow clients hold no slot while they send a body.
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
 * @throws Failure as for a new request
 */
export async function runAsNewRequest<T>(
  deps: GateDeps,
  request: FastifyRequest,
  work: (caller: Caller) => Promise<T>,
): Promise<T> {
  request.timeLeftMs = databaseTimeoutMs
  const caller = await authenticate(deps, request)
  const unit = isKeyCaller(caller) ? await spendUnit(deps.quota, caller, request) : null
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

function requirePermission({ scopes }: KeyCaller, { access, scope }: FastifyContextConfig): void {
  if (access === 'session')
    throw forbidden('session_required', 'This needs a dashboard session; an API key will not do.')
  const needed = [scope ?? []].flat()
  if (needed.length > 0 && !needed.some(one => scopes.includes(one)))
    throw forbidden('missing_scope', `The API key lacks the scope ${needed.join(' or ')}.`)
}

/** @throws Failure `forbidden` for every method that can change something */
function requireRead({ method, routeOptions: { config } }: FastifyRequest): void {
  const isRead = !unsafeMethods.has(method) || [config.scope].flat().includes('read')
  if (!(config.allowsReader ?? isRead))
    throw forbidden('owner_required', 'This needs an owner of the account; a reader can change nothing.')
}

function forbidden(reason: ErrorReason<'forbidden'>, message: string): Failure {
  return new Failure('forbidden', message, { reason })
}
