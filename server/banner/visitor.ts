import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Sql } from 'postgres'
import { storable } from '../../src/contract/index.ts'
import type { Admission } from '../admission.ts'
import { type Caller, unauthorized } from '../auth/caller.ts'
import { hashOf, siteOfToken } from '../auth/credential.ts'
import type { TtlCache } from '../auth/ttl-cache.ts'
import type { Config } from '../config.ts'
import { Failure } from '../failure.ts'
import { clientAddress } from '../http/rate-limits.ts'
import type { Place } from '../net/geo.ts'
import { findTokenSite, type TokenSite } from './queries.ts'

export interface VisitorDeps {
  readonly sql: Sql
  /** Sites by the hash of their token. */
  readonly tokens: TtlCache<TokenSite>
  /** The public flow's own: a flood of it takes no place of the private API. */
  readonly publicAdmission: Admission
}

/** A browser on a page that carries a site's token. */
export interface Visitor {
  readonly caller: Caller
  readonly policyVersion: number
}

/**
 * The site whose token a request carries. The token identifies, it does not authenticate: it is in every page. Throws
 * `unauthorized` for none or a wrong one, and `forbidden` for a page of an origin that is not the site's.
 */
export async function findVisitor(
  deps: VisitorDeps,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<Visitor> {
  const token = request.headers['x-site-token']
  const ids = typeof token === 'string' ? siteOfToken(token) : null
  if (!ids || typeof token !== 'string') throw noToken()
  const tokenHash = hashOf(token)
  const site = await deps.tokens.get(tokenHash.toString('base64'), () =>
    // Wrong tokens can be made at will, and each of them is a look-up.
    deps.publicAdmission.run('look-ups', () => findTokenSite(deps.sql, { ...ids, tokenHash })),
  )
  if (!site || (site.expires_at && site.expires_at <= new Date())) throw noToken()
  const { origin } = request.headers
  if (origin !== undefined) {
    if (!site.allowed_origins.includes(origin)) {
      throw new Failure('forbidden', 'Pages of this origin may not record consents for the site.')
    }
    reply.headers({
      'access-control-allow-origin': origin,
      'access-control-expose-headers': 'X-Request-Id, Retry-After',
    })
  }
  const { accountId, siteId } = ids
  return { caller: { accountId, kind: 'site_token', id: siteId }, policyVersion: site.policy_version }
}

/** What a browser asks before it sends a request with a header of its own (Fetch standard, CORS preflight). */
export const preflightHeaders = {
  'access-control-allow-origin': '*',
  'access-control-allow-methods': 'POST',
  'access-control-allow-headers': 'Content-Type, X-Site-Token',
  'access-control-max-age': '86400',
} as const

function noToken(): Failure {
  return unauthorized('A valid site token is required.')
}

/** Characters of a user agent that are kept. */
const longestUserAgent = 1024

/** What a connection says of a visitor, which no page may say; null for what it does not say. */
export interface Connection {
  readonly address: string | null
  readonly userAgent: string | null
  /** The place that a trusted proxy names. */
  readonly place: Place | null
}

export type ConnectionConfig = Pick<Config, 'edgeCountryHeader' | 'edgeRegionHeader'>

/** Reads it while the client is there: a socket that is closed has no address any more. */
export function readConnection(config: ConnectionConfig, request: FastifyRequest): Connection {
  const userAgent = request.headers['user-agent']?.slice(0, longestUserAgent)
  return {
    address: clientAddress(request),
    userAgent: userAgent !== undefined && storable(userAgent) ? userAgent : null,
    place: edgePlace(config, request),
  }
}

/** Null where the request came from no trusted proxy, or that names no country: `XX` is Cloudflare's word for none. */
function edgePlace(config: ConnectionConfig, { headers, ips }: FastifyRequest): Place | null {
  const isProxied = ips !== undefined && ips.length > 1
  const read = (name: string | null, format: RegExp) => {
    const value = name === null ? undefined : headers[name]
    return typeof value === 'string' && format.test(value) ? value : null
  }
  const country = isProxied ? read(config.edgeCountryHeader, /^[A-Z]{2}$/) : null
  if (country === null || country === 'XX') return null
  return { country, region: read(config.edgeRegionHeader, /^[A-Z\d]{1,3}$/) }
}
