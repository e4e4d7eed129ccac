import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { OperatorError } from '../../src/contract/index.ts'
import { Failure } from '../failure.ts'
import { toErrorBody } from './errors.ts'

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

/** Time for a load balancer to notice the stop. */
const noticePeriodMs = 1000
const recentProbeMs = 15_000

const drainTimeoutMs = 5500

/** Time for requests already sent to arrive. */
const gracePeriodMs = 300

export async function drain(app: FastifyInstance): Promise<void> {
  const { server } = app
  draining.add(server)
  // Closing resets connections whose request is in transit.
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

function countInFlight(server: Server): number {
  return inFlight.get(server) ?? 0
}

const parserErrors: Record<string, readonly [status: string, message: string]> = {
  HPE_HEADER_OVERFLOW: ['431 Request Header Fields Too Large', 'The headers are too large.'],
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'The request did not arrive in time.'],
}

const closeTimeoutMs = 1000

interface Pair {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

interface Connection {
  readonly unanswered: Set<Pair>
  last: Pair
}

const connections = new WeakMap<Socket, Connection>()

/**
 * Answers unknown expectations and CONNECT with an error body, keeps headers beyond the 2000th, and answers half-closed
 * connections.
 */
export function installSocketHandling(server: Server): void {
  server.maxHeadersCount = 0
  Object.assign(server, { httpAllowHalfOpen: true })
  trackRequests(server)
  server.on('checkExpectation', (request, response) => server.emit('request', request, response))
  server.on('connect', (_request, socket: Socket) => {
    socket.on('error', () => {})
    socket.resume()
    rejectSocket(new Error('CONNECT is not supported'), socket)
  })
}

function trackRequests(server: Server): void {
  server.on('request', (request, response) => {
    const pair = { request, response }
    const connection = connections.get(request.socket) ?? { unanswered: new Set(), last: pair }
    connection.unanswered.add(pair)
    connection.last = pair
    connections.set(request.socket, connection)
    inFlight.set(server, countInFlight(server) + 1)
    response.once('close', () => {
      connection.unanswered.delete(pair)
      inFlight.set(server, countInFlight(server) - 1)
    })
  })
}

/** Answers malformed HTTP after all complete requests before it, unless it is the body of an answered request. */
export function rejectSocket(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy()
  respondAndClose(error, socket).catch(() => socket.destroy())
}

async function respondAndClose(error: NodeJS.ErrnoException, socket: Socket): Promise<void> {
  const { unanswered = [], last } = connections.get(socket) ?? {}
  const complete = [...unanswered].filter(({ request }) => request.complete)
  await Promise.all(complete.map(({ response }) => once(response, 'close')))
  const isAnswered = last && !last.request.complete && last.response.headersSent
  if (isAnswered || !socket.writable) return void socket.destroySoon()
  const [status, message] = parserErrors[error.code ?? ''] ?? ['400 Bad Request', 'The request is malformed.']
  const body = JSON.stringify(toErrorBody(new Failure('invalid_request', message)))
  const head = [
    `HTTP/1.1 ${status}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${randomUUID()}`,
    'Connection: close',
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
  socket.setTimeout(closeTimeoutMs, () => socket.destroy())
}
