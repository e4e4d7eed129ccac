import { parseCookie, stringifySetCookie } from 'cookie'
import type { FastifyRequest } from 'fastify'
import { jwtVerify, SignJWT } from 'jose'
import { Failure } from '../failure.ts'

const lifetimeSeconds = 8 * 60 * 60

/** Rejects tokens signed for another purpose. */
const issuer = 'consentctl'
const audience = 'consentctl/session'

export interface SessionClaims {
  readonly accountId: string
  readonly userId: string
  readonly version: number
  readonly expiresAt: Date
}

/** Signs a JWT (RFC 7519) with HS256. */
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
    .setExpirationTime(now + lifetimeSeconds)
    .sign(secret)
  return { token, expiresAt: new Date((now + lifetimeSeconds) * 1000) }
}

export async function readSession(secret: Uint8Array, token: string, now: Date): Promise<SessionClaims | null> {
  try {
    const { payload } = await jwtVerify(token, secret, {
      algorithms: ['HS256'],
      issuer,
      audience,
      maxTokenAge: lifetimeSeconds,
      currentDate: now,
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

export function sessionToken(request: FastifyRequest): string | null {
  const header = request.headers.cookie
  return (header && parseCookie(header)[cookieName(isSecure(request))]) || null
}

/**
 * Returns a Set-Cookie value; a null token removes the cookie.
 * @throws Failure `forbidden` without TLS, except on localhost
 */
export function sessionCookie(request: FastifyRequest, token: string | null): string {
  const secure = isSecure(request)
  if (!secure && !/^(localhost|127\.[\d.]+|\[::1\])(:\d+)?$/i.test(request.host)) {
    const message = 'Signing in requires HTTPS; a proxy that terminates it must be in TRUST_PROXY.'
    throw new Failure('forbidden', message, { reason: 'https_required' })
  }
  return stringifySetCookie({
    name: cookieName(secure),
    value: token ?? '',
    httpOnly: true,
    secure,
    sameSite: 'lax',
    path: '/',
    maxAge: token === null ? 0 : lifetimeSeconds,
  })
}

/**
 * Prevents cross-site request forgery.
 * @throws Failure `forbidden`
 */
export function requireOwnOrigin(request: FastifyRequest): void {
  if (!isOwnOrigin(request))
    throw new Failure('forbidden', 'The request must come from the service’s own origin.', { reason: 'foreign_origin' })
}

export function rejectForeignOrigin(request: FastifyRequest): void {
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
