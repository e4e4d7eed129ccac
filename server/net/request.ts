import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import type { FastifyRequest } from 'fastify'
import ipaddr from 'ipaddr.js'
import type { Config } from '../config.ts'

const prefix = { ipv4: 24, ipv6: 48 } as const

/** Returns the first address of the network (/24, /48). */
export function truncate(address: string): ipaddr.IPv4 | ipaddr.IPv6 {
  const parsed = ipaddr.process(address)
  const kind = parsed.kind()
  const cidr = `${parsed.toString()}/${prefix[kind]}`
  return kind === 'ipv4' ? ipaddr.IPv4.networkAddressFromCIDR(cidr) : ipaddr.IPv6.networkAddressFromCIDR(cidr)
}

/** Returns the part of a data subject's address to store (GDPR Art. 5(1)(c)), as a PostgreSQL `cidr`. */
export function networkOf(address: string, storage: Config['ipStorage']): string | null {
  if (storage === 'drop') return null
  const kept = storage === 'raw' ? ipaddr.process(address) : truncate(address)
  const bits = storage === 'raw' ? kept.toByteArray().length * 8 : prefix[kept.kind()]
  return `${kept.toString()}/${bits}`
}

/** Null if a proxy states none. A closed socket has no address. */
export function clientAddress({ ip }: FastifyRequest): string | null {
  const address = (ip ?? '').replace(/^\[(.*)\](:\d+)?$|^([\d.]+):\d+$/, '$1$3').replace(/%.*$/, '')
  return isIP(address) === 0 ? null : address
}

/** The address, or its /64 for IPv6, else the proxy's address. */
export function networkKey(request: FastifyRequest): string {
  const address = ipaddr.process(clientAddress(request) ?? request.socket.remoteAddress ?? '::')
  if (address.kind() === 'ipv4') return address.toString()
  return ipaddr.IPv6.networkAddressFromCIDR(`${address.toString()}/64`).toString()
}

/** Joins repeated values with a line break. */
export function readHeader(request: IncomingMessage, name: string): string | undefined {
  const { rawHeaders } = request
  let found: string | undefined
  for (let index = 0; index < rawHeaders.length; index += 2) {
    if (!isName(rawHeaders[index], name)) continue
    const value = rawHeaders[index + 1] ?? ''
    found = found === undefined ? value : `${found}\n${value}`
  }
  return found
}

export function countHeader({ rawHeaders }: IncomingMessage, name: string): number {
  let count = 0
  for (let index = 0; index < rawHeaders.length; index += 2) if (isName(rawHeaders[index], name)) count += 1
  return count
}

function isName(text: string | undefined, name: string): boolean {
  return text?.length === name.length && text.toLowerCase() === name
}
