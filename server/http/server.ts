import type { Server } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { OperatorError } from '../../src/contract/index.ts'

interface Address {
  readonly host: string
  readonly port: number
}

/**
 * Returns the URL.
 * @throws OperatorError if the address cannot be used
 */
export async function listen(app: FastifyInstance, { host, port }: Address): Promise<string> {
  try {
    return await app.listen({ host, port })
  } catch (cause) {
    throw explainListenError(cause, { host, port }, 'choose another with --port')
  }
}

export function explainListenError(cause: unknown, { host, port }: Address, hint: string): unknown {
  const { code, message } = cause as NodeJS.ErrnoException
  if (code === 'EADDRINUSE') return new OperatorError(`port ${port} of ${host} is in use`, { hint, cause })
  if (code === 'EACCES' || code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') {
    return new OperatorError(`cannot listen on ${host}:${port}: ${message}`, { hint, cause })
  }
  return cause
}

/** Time in which a load balancer notices the stop. */
const noticePeriodMs = 1000
const recentProbeMs = 15_000

const drainTimeoutMs = 5500

/** Time for requests already sent to arrive. */
const gracePeriodMs = 300

/** Waits for requests in flight, then closes all connections. */
export async function drain(app: FastifyInstance): Promise<void> {
  const { server } = app
  draining.add(server)
  // Closing resets connections whose request is on its way.
  await delay(Date.now() - (lastProbe.get(server) ?? 0) < recentProbeMs ? noticePeriodMs : gracePeriodMs)
  const closed = app.close()
  const start = Date.now()
  await delay(gracePeriodMs)
  while (countInFlight(server) > 0 && Date.now() - start < drainTimeoutMs) await delay(20)
  server.closeAllConnections()
  await closed
}

const draining = new WeakSet<Server>()
const lastProbe = new WeakMap<Server, number>()

export function isDraining(server: Server): boolean {
  return draining.has(server)
}

export function recordProbe(server: Server): void {
  lastProbe.set(server, Date.now())
}

const inFlight = new WeakMap<Server, number>()

export function trackInFlight(server: Server): void {
  server.on('request', (_request, response) => {
    inFlight.set(server, countInFlight(server) + 1)
    response.once('close', () => inFlight.set(server, countInFlight(server) - 1))
  })
}

function countInFlight(server: Server): number {
  return inFlight.get(server) ?? 0
}
