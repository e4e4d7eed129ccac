import { type LookupAddress, type LookupAllOptions, lookup } from 'node:dns'
import { Resolver } from 'node:dns/promises'
import type { LookupFunction } from 'node:net'
import ipaddr from 'ipaddr.js'
import { Failure } from '../failure.ts'
import { hasReadableCredentials } from '../net/credentials.ts'

/** Host names and addresses, in lower case, that may be reached whatever their address, and without TLS. */
export type Allowed = ReadonlySet<string>

export type LookupAll = (
  host: string,
  options: LookupAllOptions,
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void

export const blocked = 'its address is not public, and WEBHOOK_ALLOW of the service does not name the host'

/**
 * Returns the URL in its normal form, without a fragment. What its name resolves to is checked at each connection.
 * @throws Failure `invalid_request`
 */
export function readTarget(text: string, allowed: Allowed): URL {
  const url = URL.canParse(text) ? new URL(text) : null
  if (!url || !/^https?:$/.test(url.protocol)) throw invalid('must be an absolute URL that begins with https://')
  if (!hasReadableCredentials(url.href)) throw invalid('has a % that is not part of an escape: write %25')
  url.hash = ''
  if (allowed.has(hostOf(url))) return url
  if (url.protocol !== 'https:')
    throw invalid('must begin with https://, unless WEBHOOK_ALLOW of the service names the host')
  if (ipaddr.isValid(hostOf(url)) && !isPublic(hostOf(url))) throw invalid(blocked)
  return url
}

function invalid(problem: string): Failure {
  return new Failure('invalid_request', `url: ${problem}`)
}

/** Without the brackets of an IPv6 address and the last dot of a name. */
export function hostOf({ hostname }: URL): string {
  return hostname
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '')
    .toLowerCase()
}

/** False for an address of this machine or network, and for one of no use: IANA's special-purpose registries. */
export function isPublic(address: string): boolean {
  const parsed = ipaddr.process(address) // of an IPv4-mapped address, the IPv4 one
  const isGlobal = parsed.kind() === 'ipv4' || (parsed.toByteArray()[0] ?? 0) >> 5 === 1 // 2000::/3
  return isGlobal && parsed.range() === 'unicast'
}

const resolver = new Resolver({ timeout: 2000, tries: 2 })

/** By DNS alone. `lookup` would block two of the process's four threads while a name server does not answer. */
const resolvePublic: LookupAll = (host, _options, callback) => {
  Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]).then(([v4, v6]) => {
    const of = (found: typeof v4, family: number) =>
      found.status === 'fulfilled' ? found.value.map(address => ({ address, family })) : []
    const addresses = [...of(v4, 4), ...of(v6, 6)]
    callback(addresses.length > 0 || v4.status === 'fulfilled' ? null : v4.reason, addresses)
  })
}

/** A look-up that fails if the name has an address that is not public. */
export function guardedLookup(allowed: Allowed, resolve = resolvePublic): LookupFunction {
  return (host, options, callback) => {
    const isAllowed = allowed.has(host.replace(/\.$/, '').toLowerCase())
    const find = isAllowed && resolve === resolvePublic ? lookup : resolve
    find(host, { ...options, all: true }, (error, addresses) => {
      if (error) return callback(error, [])
      if (!isAllowed && addresses.some(({ address }) => !isPublic(address))) return callback(invalid(blocked), [])
      const [first] = addresses
      if (options.all) callback(null, addresses)
      else callback(null, first?.address ?? '', first?.family)
    })
  }
}
