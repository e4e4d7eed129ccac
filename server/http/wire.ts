import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { refuseSocket, trackRequests } from './socket.ts'

/**
 * Takes from Node what it would do by itself: answer an expectation that it does not know, and CONNECT, without a body;
 * drop headers beyond the 2000th unseen (their size is limited anyway); leave a request whose client has said all it has
 * to say without an answer.
 */
export function installWire(server: Server): void {
  server.maxHeadersCount = 0
  Object.assign(server, { httpAllowHalfOpen: true })
  trackRequests(server)
  server.on('checkExpectation', (request, response) => server.emit('request', request, response))
  server.on('request', (_request, response) => {
    counts.set(server, inFlight(server) + 1)
    response.once('close', () => counts.set(server, inFlight(server) - 1))
  })
  server.on('connect', (_request, socket: Socket) => {
    socket.on('error', () => {}) // Node has let go of the socket: nobody else hears of its trouble
    socket.resume()
    refuseSocket(new Error('no proxy'), socket)
  })
}

/** How long a load balancer has to see that a server stops, if one has looked lately, in milliseconds. */
const [notice, recent] = [1000, 15_000]

/** How long requests in flight may take to finish when the server stops, in milliseconds. */
const patience = 5500

/** How long requests that are on their way may take to arrive, and a connection without one to bring it. */
const grace = 300

/**
 * Tells a load balancer, then closes the server when the requests in flight are answered. Connections that bring none are
 * closed too: a browser's spare one, or half a request, would otherwise hold it for as long as they please.
 */
export async function drain(app: FastifyInstance): Promise<void> {
  const { server } = app
  draining.add(server)
  // Closing resets the connections that wait to be accepted, and ends idle ones whose next request is on the wire.
  await delay(Date.now() - (lastLook.get(server) ?? 0) < recent ? notice : grace)
  const closed = app.close()
  const start = Date.now()
  await delay(grace)
  while (inFlight(server) > 0 && Date.now() - start < patience) await delay(20)
  server.closeAllConnections()
  await closed
}

const draining = new WeakSet<Server>()
const lastLook = new WeakMap<Server, number>()

/** Whether a server is about to stop. */
export function isDraining(server: Server): boolean {
  return draining.has(server)
}

/** Notes that a load balancer has asked whether the server is ready. */
export function noteLook(server: Server): void {
  lastLook.set(server, Date.now())
}

const counts = new WeakMap<Server, number>()

function inFlight(server: Server): number {
  return counts.get(server) ?? 0
}
