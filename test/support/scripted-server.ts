import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { createServer as createTlsServer, type TlsOptions } from 'node:tls'
import { afterAll, afterEach, beforeAll } from 'vitest'
import { listen } from './net.ts'

/** A request as it came over the wire. */
export interface RawRequest {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Reacts to a whole request on its connection. */
export type Fault = (socket: Socket, request: RawRequest) => void

/** A TCP server without HTTP: its responses are the bytes that a test gives it. */
export interface ScriptedServer {
  port: number
  url: string
  /** Every request of the present test, in order. */
  readonly requests: RawRequest[]
  /** Sets the reactions to the requests of this test, in order; the last one is for all that follow. */
  script(...faults: Fault[]): void
}

/** `tls`: speaks it, with what is returned when the server starts. */
export function useScriptedServer(tls?: () => TlsOptions): ScriptedServer {
  const sockets = new Set<Socket>()
  let faults: Fault[] = []
  const faulty: ScriptedServer = {
    port: 0,
    url: '',
    requests: [],
    script: (...more) => {
      faults = more
    },
  }
  const serve = (socket: Socket) => {
    sockets.add(socket.on('error', () => {}).once('close', () => sockets.delete(socket)))
    let received = ''
    socket.on('data', data => {
      received += data.toString('latin1')
      const request = parse(received)
      if (!request) return
      received = ''
      faulty.requests.push(request)
      const fault = faults.length > 1 ? faults.shift() : faults[0]
      fault?.(socket, request)
    })
  }
  const server = tls ? createTlsServer(tls(), serve) : createServer({ allowHalfOpen: false }, serve)
  beforeAll(async () => {
    const url = new URL(await listen(server.on('tlsClientError', () => {})))
    faulty.port = Number(url.port)
    faulty.url = `${tls ? 'https' : 'http'}://${url.host}`
  })
  afterEach(() => {
    for (const socket of sockets) socket.destroy()
    faulty.requests.length = 0
    faults = []
  })
  afterAll(async () => {
    server.close()
    await once(server, 'close')
  })
  return faulty
}

function parse(text: string): RawRequest | null {
  const [head = '', ...rest] = text.split('\r\n\r\n')
  const [line = '', ...fields] = head.split('\r\n')
  const [method = '', url = ''] = line.split(' ')
  const headers = Object.fromEntries(
    fields.map(field => [field.slice(0, field.indexOf(':')).toLowerCase(), field.slice(field.indexOf(':') + 1).trim()]),
  )
  const body = rest.join('\r\n\r\n')
  const isWhole = rest.length > 0 && body.length >= Number(headers['content-length'] ?? 0)
  return isWhole ? { method, url, headers, body: Buffer.from(body, 'latin1').toString('utf8') } : null
}

/** Sends this text, byte for byte, and leaves the connection open. */
export function sendBytes(text: string | Buffer): Fault {
  return socket => void socket.write(text)
}

/** Sends it and ends the connection. */
export function sendAndClose(text: string | Buffer): Fault {
  return socket => void socket.end(text)
}

/** Sends a whole response: JSON, unless the body is a text or bytes. */
export function respond(status: number, body: unknown, headers: Readonly<Record<string, string | number>> = {}): Fault {
  const content = Buffer.isBuffer(body) ? body : typeof body === 'string' ? body : JSON.stringify(body)
  const all = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(content), ...headers }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  const head = `HTTP/1.1 ${status} Some Words\r\n${lines.join('')}\r\n`
  return sendBytes(Buffer.concat([Buffer.from(head), Buffer.from(content)]))
}

/** Sends the pieces of a text one by one, with a pause in milliseconds before each. */
export function drip(head: string, pieces: readonly string[], pause: number): Fault {
  return socket => {
    socket.write(head)
    let index = 0
    const timer = setInterval(() => {
      if (socket.destroyed || index === pieces.length) return clearInterval(timer)
      socket.write(pieces[index++] ?? '')
    }, pause)
    socket.once('close', () => clearInterval(timer))
  }
}

export const reset: Fault = socket => void socket.resetAndDestroy()
export const close: Fault = socket => void socket.end()
export const staySilent: Fault = () => {}
