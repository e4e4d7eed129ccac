import ipaddr from 'ipaddr.js'
import type { Config } from '../config.ts'

/** How many leading bits of an address are kept when it is truncated. */
const prefix = { ipv4: 24, ipv6: 48 } as const

/**
 * What is kept of a data subject's address (GDPR Art. 5(1)(c)), as PostgreSQL's `cidr`: its network by default. An
 * IPv4 address written inside IPv6 counts as what it is.
 */
export function networkOf(address: string, storage: Config['ipStorage']): string | null {
  if (storage === 'drop') return null
  const parsed = ipaddr.process(address)
  const kind = parsed.kind()
  if (storage === 'raw') return `${parsed.toString()}/${kind === 'ipv4' ? 32 : 128}`
  const cidr = `${parsed.toString()}/${prefix[kind]}`
  const network =
    kind === 'ipv4' ? ipaddr.IPv4.networkAddressFromCIDR(cidr) : ipaddr.IPv6.networkAddressFromCIDR(cidr)
  return `${network.toString()}/${prefix[kind]}`
}
