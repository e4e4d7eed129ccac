import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Sql } from 'postgres'
import { storable } from '../../src/contract/index.ts'
import type { Admission } from '../admission.ts'
import { type Caller, unauthorized } from '../auth/caller.ts'
import { hashOf, siteOfToken } from '../auth/credential.ts'
import type { Cache } from '../cache.ts'
import type { Config } from '../config.ts'
import { Failure } from '../failure.ts'
import type { Place } from '../net/geo.ts'
import { clientAddress } from '../net/request.ts'
import { findTokenSite, type TokenSite } from './queries.ts'
import type { Connection } from './service.ts'

export interface VisitorDeps {
  readonly sql: Sql
  readonly tokens: Cache<TokenSite>
  readonly publicAdmission: Admission
}

/**
 * A token authenticates nobody: every page contains it. Sets the CORS headers.
 * @throws Failure `unauthorized` for a missing or wrong token, `forbidden` for an origin that the site does not allow
 */
export async function findTokenHolder(
  deps: VisitorDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  token: string,
): Promise<Caller> {
  const ids = siteOfToken(token)
  if (!ids) throw invalidToken()
  const tokenHash = hashOf(token)
  const site = await deps.tokens.get(tokenHash.toString('base64'), () =>
    deps.publicAdmission.run('lookups', () => findTokenSite(deps.sql, { ...ids, tokenHash })),
  )
  if (!site || (site.expires_at && site.expires_at <= new Date())) throw invalidToken()
  const { origin } = request.headers
  if (origin !== undefined) {
    if (!site.allowed_origins.includes(origin)) {
      const message = 'Pages of this origin may not record consents for the site.'
      throw new Failure('forbidden', message, { reason: 'foreign_origin' })
    }
    reply.headers({
      'access-control-allow-origin': origin,
      'access-control-expose-headers': 'X-Request-Id, Retry-After',
    })
  }
  const { accountId, siteId } = ids
  return { accountId, siteIds: null, kind: 'site_token', id: siteId }
}

/** A CORS preflight (Fetch standard) carries no token. */
export const preflightHeaders = {
  'access-control-allow-origin': '*',
  'access-control-allow-methods': 'POST',
  'access-control-allow-headers': 'Content-Type, X-Site-Token',
  'access-control-max-age': '86400',
} as const

function invalidToken(): Failure {
  return unauthorized('A valid site token is required.')
}

const maxUserAgent = 1024

export type ConnectionConfig = Pick<Config, 'edgeCountryHeader' | 'edgeRegionHeader'>

/** A closed socket has no address. */
export function readConnection(config: ConnectionConfig, request: FastifyRequest): Connection {
  const userAgent = request.headers['user-agent']?.slice(0, maxUserAgent)
  return {
    address: clientAddress(request),
    userAgent: userAgent !== undefined && storable(userAgent) ? userAgent : null,
    place: readEdgePlace(config, request),
    gpc: request.headers['sec-gpc'] === '1',
  }
}

/** `XX` is Cloudflare's code for an unknown country. */
function readEdgePlace(config: ConnectionConfig, { headers, ips }: FastifyRequest): Place | null {
  const isProxied = ips !== undefined && ips.length > 1
  const read = (name: string | null, format: RegExp) => {
    const value = name === null ? undefined : headers[name]
    return typeof value === 'string' && format.test(value) ? value : null
  }
  const country = isProxied ? read(config.edgeCountryHeader, /^[A-Z]{2}$/) : null
  if (country === null || country === 'XX') return null
  return { country, region: read(config.edgeRegionHeader, /^[A-Z\d]{1,3}$/) }
}
