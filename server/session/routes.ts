import type { FastifyInstance, FastifyRequest } from 'fastify'
import { session } from '../../src/contract/index.ts'
import { refuseForeignOrigin, sessionCookie } from '../auth/session.ts'
import { attemptLimiter, type Limit, networkKey } from '../http/rate-limits.ts'
import { route } from '../http/route.ts'
import { getSession, signIn, signOut } from './service.ts'

/**
 * Failed attempts to sign in from one network: for one e-mail, and for all. None counts against an e-mail alone, so that nobody
 * can lock its owner out from elsewhere.
 */
const limits = {
  email: { max: 10, seconds: 15 * 60 },
  network: { max: 100, seconds: 15 * 60 },
} as const satisfies Record<string, Limit>

export function sessionRoutes(app: FastifyInstance, deps: Parameters<typeof signIn>[0]): void {
  const ofNetwork = attemptLimiter(app, limits.network, networkKey)
  const keyOf = (request: FastifyRequest) => `${networkKey(request)} ${emailOf(request)}`
  const ofEmail = attemptLimiter(app, limits.email, keyOf)
  route(app, session.create, async ({ body }, { request, setHeader }) => {
    refuseForeignOrigin(request)
    const cookie = (token: string) => sessionCookie(request, token)
    cookie('') // refused before the password is looked at
    const { session, token } = await ofNetwork(request, () => ofEmail(request, () => signIn(deps, body)))
    setHeader('set-cookie', cookie(token))
    return session
  })
  route(app, session.get, (_, { caller }) => getSession(deps, caller))
  route(app, session.remove, async (_, { caller, request, setHeader }) => {
    await signOut(deps, caller)
    setHeader('set-cookie', sessionCookie(request, null))
    return null
  })
}

function emailOf({ body }: FastifyRequest): string {
  return String((body as { email?: unknown }).email).toLowerCase()
}
