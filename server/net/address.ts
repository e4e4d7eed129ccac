import ipaddr from 'ipaddr.js'
import type { Config } from '../config.ts'

/** How many leading bits of an address are kept when it is truncated. */
const prefix = { ipv4: 24, ipv6: 48 } as const

/** The first address of the network that an address is in. An IPv4 address written inside IPv6 counts as what it is. */
export function truncate(address: string): ipaddr.IPv4 | ipaddr.IPv6 {
  const parsed = ipaddr.process(address)
  const kind = parsed.kind()
  const cidr = `${parsed.toString()}/${prefix[kind]}`
  return kind === 'ipv4' ? ipaddr.IPv4.networkAddressFromCIDR(cidr) : ipaddr.IPv6.networkAddressFromCIDR(cidr)
}

/** What is kept of a data subject's address (GDPR Art. 5(1)(c)), as PostgreSQL's `cidr`: its network by default. */
export function networkOf(address: string, storage: Config['ipStorage']): string | null {
  if (storage === 'drop') return null
  const kept = storage === 'raw' ? ipaddr.process(address) : truncate(address)
  const bits = storage === 'raw' ? kept.toByteArray().length * 8 : prefix[kept.kind()]
  return `${kept.toString()}/${bits}`
}
