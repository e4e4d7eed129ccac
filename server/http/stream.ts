import type { ServerResponse } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { unavailable } from '../failure.ts'
import { toFailure } from './errors.ts'
import { getDiagnostics } from './logging.ts'
import { isDraining } from './server.ts'

export class Lines {
  readonly first: string
  readonly rest: AsyncIterable<string>

  constructor(first: string, rest: AsyncIterable<string>) {
    this.first = first
    this.rest = rest
  }
}

const stallTimeoutMs = 60_000

/** Applies backpressure. After an error or a stop, closes the connection without the end of the body. */
export async function sendLines(request: FastifyRequest, reply: FastifyReply, lines: Lines): Promise<void> {
  const { raw } = reply
  reply.hijack()
  request.releaseSlot?.() // Fastify skips onSend for hijacked responses
  request.units = null
  raw.writeHead(reply.statusCode, {
    ...(reply.getHeaders() as Record<string, string>),
    'content-type': 'application/x-ndjson; charset=utf-8',
  })
  try {
    if (!(await write(raw, lines.first))) return
    for await (const line of lines.rest) {
      if (!(await write(raw, line))) return
      if (isDraining(request.server.server)) throw unavailable('The service is stopping.')
    }
    raw.end()
  } catch (error) {
    getDiagnostics(request).failure = toFailure(error)
    raw.socket?.destroySoon()
  }
}

function write(raw: ServerResponse, line: string): Promise<boolean> {
  return new Promise(resolve => {
    if (raw.destroyed) return resolve(false)
    if (raw.write(`${line}\n`)) return resolve(true)
    const stalled = setTimeout(() => raw.destroy(), stallTimeoutMs)
    const end = () => {
      clearTimeout(stalled)
      raw.off('drain', end)
      raw.off('close', end)
      resolve(!raw.destroyed)
    }
    raw.on('drain', end)
    raw.on('close', end)
  })
}
