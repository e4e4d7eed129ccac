import { startProxy, type TcpProxy } from './proxy.ts'

/**
 * A TCP proxy before a server on loopback that makes it as far away as so many milliseconds for a round trip: each
 * direction is late by half of it, and carries as much as ever.
 */
export async function startDelay(target: number, roundTrip: number): Promise<TcpProxy> {
  const proxy = await startProxy(target)
  proxy.delay(roundTrip / 2)
  return proxy
}
