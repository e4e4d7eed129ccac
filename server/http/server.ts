import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { OperatorError } from '../../src/contract/index.ts'
import { Failure } from '../failure.ts'
import { bodyOf } from './errors.ts'

/** The parser's errors that have a status of their own. */
const refusals: Record<string, readonly [status: string, message: string]> = {
  HPE_HEADER_OVERFLOW: ['431 Request Header Fields Too Large', 'The headers are too large.'],
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'The request did not arrive in time.'],
}

/** How long a refused client may take to close its side, in milliseconds. */
const lingering = 1000

interface Pair {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

/** What a connection has brought: the requests without an answer yet in their order, and the last one of all. */
interface Line {
  readonly unanswered: Set<Pair>
  last: Pair
}

const lines = new WeakMap<Socket, Line>()

/** Keeps track of each connection's requests, for refuseSocket. */
function trackRequests(server: Server): void {
  server.on('request', (request, response) => {
    const pair = { request, response }
    const line = lines.get(request.socket) ?? { unanswered: new Set(), last: pair }
    line.unanswered.add(pair)
    line.last = pair
    lines.set(request.socket, line)
    response.once('close', () => line.unanswered.delete(pair))
  })
}

/**
 * Answers what is no HTTP, in the shape of every other error; Node has no request at that point, only the socket. What came
 * whole before it is answered first: a request must not be refused and done. One that has its answer, and whose body turns
 * out to be malformed, gets no second.
 */
export function refuseSocket(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy()
  refuse(error, socket).catch(() => socket.destroy())
}

async function refuse(error: NodeJS.ErrnoException, socket: Socket): Promise<void> {
  const { unanswered = [], last } = lines.get(socket) ?? {}
  const whole = [...unanswered].filter(({ request }) => request.complete)
  await Promise.all(whole.map(({ response }) => once(response, 'close')))
  const isAnswered = last && !last.request.complete && last.response.headersSent
  if (isAnswered || !socket.writable) return void socket.destroySoon()
  const [status, message] = refusals[error.code ?? ''] ?? ['400 Bad Request', 'The request is malformed.']
  const body = JSON.stringify(bodyOf(new Failure('invalid_request', message)))
  const head = [
    `HTTP/1.1 ${status}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${randomUUID()}`,
    'Connection: close',
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
  socket.setTimeout(lingering, () => socket.destroy())
}

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

interface Address {
  readonly host: string
  readonly port: number
}

/** Lets the application listen, and resolves to its URL. Throws an OperatorError where that cannot be. */
export async function listen(app: FastifyInstance, { host, port }: Address): Promise<string> {
  try {
    return await app.listen({ host, port })
  } catch (cause) {
    throw explainListen(cause, { host, port }, 'choose another with --port')
  }
}

/** Why a server cannot listen, as an OperatorError where its operator can mend it; `hint` says how. */
export function explainListen(cause: unknown, { host, port }: Address, hint: string): unknown {
  const { code, message } = cause as NodeJS.ErrnoException
  if (code === 'EADDRINUSE') return new OperatorError(`port ${port} of ${host} is in use`, { hint, cause })
  if (code === 'EACCES' || code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') {
    return new OperatorError(`cannot listen on ${host}:${port}: ${message}`, { hint, cause })
  }
  return cause
}
