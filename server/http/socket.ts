import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Failure } from '../failure.ts'
import { bodyOf } from './failures.ts'

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
export function trackRequests(server: Server): void {
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
