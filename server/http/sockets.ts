import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Failure } from '../failure.ts'
import { toErrorBody } from './errors.ts'

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
    response.once('close', () => connection.unanswered.delete(pair))
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
