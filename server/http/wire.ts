import { randomUUID } from 'node:crypto'
import type { IncomingMessage, Server } from 'node:http'
import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { Failure } from '../failure.ts'
import { bodyOf } from './failures.ts'

/** The parser's errors that have a status of their own. */
const refusals: Record<string, readonly [status: string, message: string]> = {
  HPE_HEADER_OVERFLOW: ['431 Request Header Fields Too Large', 'The headers are too large.'],
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'The request did not arrive in time.'],
}

/** What Node would answer by itself, and without a body: an expectation that it does not know, and CONNECT. */
export function installWire(server: Server): void {
  server.on('checkExpectation', (request, response) => server.emit('request', request, response))
  server.on('request', (_request, response) => {
    counts.set(server, inFlight(server) + 1)
    response.once('close', () => counts.set(server, inFlight(server) - 1))
  })
  server.on('connect', (_request, socket: Socket) => refuseSocket(new Error('no proxy'), socket))
}

/** How long requests in flight may take to finish when the server stops, in milliseconds. */
const patience = 8000

/** How long a connection without a request may still bring one: a client may just be sending it. */
const grace = 300

/**
 * Closes the server when the requests in flight are answered. Connections that bring none are closed too: a browser's
 * spare one, or half a request, would otherwise hold it for as long as they please.
 */
export async function drain(app: FastifyInstance): Promise<void> {
  const closed = app.close()
  const start = Date.now()
  await delay(grace)
  while (inFlight(app.server) > 0 && Date.now() - start < patience) await delay(20)
  app.server.closeAllConnections()
  await closed
}

const counts = new WeakMap<Server, number>()

function inFlight(server: Server): number {
  return counts.get(server) ?? 0
}

/** A request names its host once (RFC 9112 section 3.2). Throws `invalid_request`. */
export function requireOneHost({ rawHeaders, httpVersion }: IncomingMessage): void {
  const count = rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === 'host').length
  if (count > 1 || (count === 0 && httpVersion === '1.1')) {
    throw new Failure('invalid_request', 'The request must have one Host header.')
  }
}

/** Answers what is no HTTP, in the shape of every other error; Node has no request at that point, only the socket. */
export function refuseSocket(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy()
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
}
