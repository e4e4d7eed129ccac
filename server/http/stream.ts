import type { ServerResponse } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { unavailable } from '../failure.ts'
import { toFailure } from './errors.ts'
import { notesOf } from './logging.ts'
import { isDraining } from './server.ts'

/** Lines that are sent as one response, the first of which is there. They end early with a cut connection if `rest` fails. */
export class Lines {
  readonly first: string
  readonly rest: AsyncIterable<string>

  constructor(first: string, rest: AsyncIterable<string>) {
    this.first = first
    this.rest = rest
  }
}

/** A reader that takes nothing for so long is cut off: its connection holds memory. It can continue where it was. */
const stallTimeoutMs = 60_000

/**
 * Sends lines as one response, each when its reader has taken those before it. If a line fails or the server stops, what
 * was sent so far still arrives, and then the connection closes without the end of the body: no reader takes it for whole.
 */
export async function sendLines(request: FastifyRequest, reply: FastifyReply, lines: Lines): Promise<void> {
  const { raw } = reply
  reply.hijack()
  request.leave?.() // the hook that does this for other responses is not called
  request.units = null
  raw.writeHead(reply.statusCode, {
    ...(reply.getHeaders() as Record<string, string>),
    'content-type': 'application/x-ndjson; charset=utf-8',
  })
  try {
    if (!(await write(raw, lines.first))) return
    for await (const line of lines.rest) {
      if (!(await write(raw, line))) return
      if (isDraining(request.server.server)) throw unavailable('The service stops.')
    }
    raw.end()
  } catch (error) {
    notesOf(request).failure = toFailure(error)
    raw.socket?.destroySoon()
  }
}

/** Resolves to true when there is room for the next line, and to false if the connection is gone. */
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

/**
 * Returns true if an `Accept` header asks for application/x-ndjson, with a weight above that of JSON (RFC 9110 section
 * 12.5.1). A header that accepts anything gets JSON.
 */
export function prefersLines(header: string | undefined): boolean {
  const weights = new Map(
    (header ?? '').split(/[,\n]/).map(range => {
      const [type = '', ...parameters] = range.split(';').map(part => part.trim().toLowerCase())
      const weight = parameters.find(parameter => parameter.startsWith('q='))
      return [type, weight ? Number(weight.slice(2)) : 1]
    }),
  )
  const weightOf = (...types: string[]) => Math.max(...types.map(type => weights.get(type) ?? 0))
  return weightOf('application/x-ndjson') > weightOf('application/json', 'application/*', '*/*')
}
