import { parseCookie, stringifySetCookie } from 'cookie'
import type { FastifyRequest } from 'fastify'
import { jwtVerify, SignJWT } from 'jose'
import { Failure } from '../failure.ts'

/** How long a session lasts, in seconds. */
const lifetime = 8 * 60 * 60

/** Who issues the tokens, and for what: a token that the same secret signed for something else is none. */
const [issuer, audience] = ['consentctl', 'consentctl/session']

export interface SessionClaims {
  readonly accountId: string
  readonly userId: string
  /** The version of the user's sessions it was made at. */
  readonly version: number
  readonly expiresAt: Date
}

/** A token of a session that begins now: a JWT (RFC 7519) with HS256. */
export async function signSession(
  secret: Uint8Array,
  { accountId, userId, version }: Omit<SessionClaims, 'expiresAt'>,
): Promise<{ token: string; expiresAt: Date }> {
  const now = Math.floor(Date.now() / 1000)
  const token = await new SignJWT({ account: accountId, version })
    .setProtectedHeader({ alg: 'HS256' })
    .setIssuer(issuer)
    .setAudience(audience)
    .setSubject(userId)
    .setIssuedAt(now)
    .setExpirationTime(now + lifetime)
    .sign(secret)
  return { token, expiresAt: new Date((now + lifetime) * 1000) }
}

/** What a token says, or null for one that this service did not sign, or that has ended. */
export async function readSession(secret: Uint8Array, token: string): Promise<SessionClaims | null> {
  try {
    const { payload } = await jwtVerify(token, secret, {
      algorithms: ['HS256'],
      issuer,
      audience,
      maxTokenAge: lifetime,
      requiredClaims: ['sub', 'exp'],
    })
    const { sub: userId = '', exp = 0 } = payload
    const { account, version } = payload as { account?: unknown; version?: unknown }
    if (typeof account !== 'string' || typeof version !== 'number') return null
    return { accountId: account, userId, version, expiresAt: new Date(exp * 1000) }
  } catch {
    return null
  }
}

/** The token in a request's cookie; null without one. */
export function sessionToken(request: FastifyRequest): string | null {
  const header = request.headers.cookie
  return (header && parseCookie(header)[cookieName(isSecure(request))]) || null
}

/**
 * The Set-Cookie header for a token, or for none. Browsers keep a `__Host-` cookie to this host alone; without TLS there
 * is no session but on the machine itself. Throws `forbidden` elsewhere.
 */
export function sessionCookie(request: FastifyRequest, token: string | null): string {
  const secure = isSecure(request)
  if (!secure && !/^(localhost|127\.[\d.]+|\[::1\])(:\d+)?$/i.test(request.host)) {
    throw new Failure('forbidden', 'Signing in needs HTTPS; a proxy that ends it must be in TRUST_PROXY.')
  }
  return stringifySetCookie({
    name: cookieName(secure),
    value: token ?? '',
    httpOnly: true,
    secure,
    sameSite: 'lax',
    path: '/',
    maxAge: token === null ? 0 : lifetime,
  })
}

/**
 * Refuses what a page of another origin may have made a browser send (CSRF): the request must come from the service's
 * own origin. Throws `forbidden`.
 */
export function requireOwnOrigin(request: FastifyRequest): void {
  if (!isOwnOrigin(request)) throw new Failure('forbidden', 'The request must come from the own origin.')
}

/** The same, for a request that carries no cookie yet, and so may come from what is no browser. */
export function refuseForeignOrigin(request: FastifyRequest): void {
  const { origin, 'sec-fetch-site': site } = request.headers
  if (origin !== undefined || site !== undefined) requireOwnOrigin(request)
}

function isOwnOrigin(request: FastifyRequest): boolean {
  const { origin, 'sec-fetch-site': site } = request.headers
  if (origin !== undefined) return origin === `${request.protocol}://${request.host}`
  return site === 'same-origin'
}

function cookieName(secure: boolean): string {
  return secure ? '__Host-consent_session' : 'consent_session'
}

function isSecure(request: FastifyRequest): boolean {
  return request.protocol === 'https'
}
