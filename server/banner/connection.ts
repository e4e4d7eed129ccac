import type { FastifyRequest } from 'fastify'
import { storable } from '../../src/contract/index.ts'
import type { Config } from '../config.ts'
import { clientAddress } from '../http/limits.ts'
import type { Place } from '../net/geo.ts'

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
