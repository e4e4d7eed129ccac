import type { Socket } from 'node:net'
import { Failure } from '../failure.ts'
import { bodyOf } from './failures.ts'

/** The parser's errors that have a status of their own. */
const refusals: Record<string, readonly [status: string, message: string]> = {
  HPE_HEADER_OVERFLOW: ['431 Request Header Fields Too Large', 'The headers are too large.'],
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'The request did not arrive in time.'],
}

/** Answers what is no HTTP, in the shape of every other error; Node has no request at that point, only the socket. */
export function refuseSocket(error: NodeJS.ErrnoException, socket: Socket, requestId: string): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy()
  const [status, message] = refusals[error.code ?? ''] ?? ['400 Bad Request', 'The request is malformed.']
  const body = JSON.stringify(bodyOf(new Failure('invalid_request', message)))
  const head = [
    `HTTP/1.1 ${status}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${requestId}`,
    'Connection: close',
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
}
