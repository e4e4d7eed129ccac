import type { FastifyInstance, FastifyRequest } from 'fastify'
import { caller as callerEndpoints, session } from '../../src/contract/index.ts'
import { isKeyCaller } from '../auth/caller.ts'
import { rejectForeignOrigin, sessionCookie } from '../auth/session.ts'
import { type NodeState, requireClock } from '../health/monitor.ts'
import { type Limit, limitFailedAttempts } from '../http/rate-limits.ts'
import { route } from '../http/route.ts'
import { networkKey } from '../net/request.ts'
import { getSession, signIn, signOut } from './service.ts'

/** Limits failed sign-ins. None counts by e-mail alone, so that nobody can lock out a user from another network. */
const limits = {
  email: { max: 10, seconds: 15 * 60 },
  network: { max: 100, seconds: 15 * 60 },
} as const satisfies Record<string, Limit>

export function sessionRoutes(
  app: FastifyInstance,
  deps: Parameters<typeof signIn>[0] & { readonly state: NodeState },
): void {
  const limitByNetwork = limitFailedAttempts(limits.network, networkKey)
  const keyOf = (request: FastifyRequest) => `${networkKey(request)} ${readEmail(request)}`
  const limitByEmail = limitFailedAttempts(limits.email, keyOf)
  route(app, session.create, async ({ body }, { request, setHeader }) => {
    rejectForeignOrigin(request)
    requireClock(deps.state) // a session states its end
    const cookie = (token: string) => sessionCookie(request, token)
    cookie('') // throws before the password check
    const from = { network: networkKey(request), timeoutMs: request.timeLeftMs }
    const { session, token } = await limitByNetwork(request, () =>
      limitByEmail(request, () => signIn(deps, body, from)),
    )
    setHeader('set-cookie', cookie(token))
    return session
  })
  route(app, session.get, (_, { caller }) => getSession(deps, caller))
  route(app, callerEndpoints.get, async (_, { caller }) => ({
    account_id: caller.accountId,
    kind: caller.kind,
    id: caller.id,
    role: caller.role ?? null,
    site_ids: caller.siteIds && [...caller.siteIds],
    scopes: isKeyCaller(caller) ? [...caller.scopes] : null,
  }))
  route(app, session.remove, async (_, { caller, request, setHeader }) => {
    await signOut(deps, caller)
    setHeader('set-cookie', sessionCookie(request, null))
    return null
  })
}

function readEmail({ body }: FastifyRequest): string {
  return String((body as { email?: unknown }).email).toLowerCase()
}
