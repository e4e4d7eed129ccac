import type {
  FastifyContextConfig,
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  RouteShorthandOptions,
} from 'fastify'
import type * as z from 'zod'
import { type Endpoint, Uuid } from '../../src/contract/index.ts'
import type { Caller } from '../auth/caller.ts'
import { databaseTimeoutMs, type RetryOptions, withRetry, withTimeout } from '../db/errors.ts'
import { Failure } from '../failure.ts'
import { readHeader } from '../net/request.ts'
import { getDiagnostics } from './logging.ts'
import { parseQuery } from './parsing.ts'
import { Lines, sendLines } from './stream.ts'

declare module 'fastify' {
  interface FastifyRequest {
    timeLeftMs: number
  }
}

interface Input<P, Q, B> {
  readonly params: P
  readonly query: Q
  readonly body: B
}

export class RequestContext {
  readonly request: FastifyRequest
  readonly header: (name: string) => string | undefined
  readonly setHeader: (name: string, value: string) => void
  /** Deadline of the request (`performance.now()`). */
  readonly until: number
  /** By row index, so that a retry recognizes its own records. */
  readonly newIds = new Map<number, string>()

  constructor(request: FastifyRequest, reply: FastifyReply) {
    this.request = request
    this.until = performance.now() + readTimeLeft(request)
    this.header = name => readHeader(request.raw, name)
    this.setHeader = (name, value) => void reply.header(name, value)
  }

  get caller(): Caller {
    const { caller } = this.request
    if (!caller) throw new Error('a route was reached without authentication')
    return caller
  }
}

export interface RouteOptions extends RouteShorthandOptions {
  /** Default: reads and deletions. */
  readonly isIdempotent?: (request: FastifyRequest) => boolean
  /** The body is not validated yet. Default: depends on the method. */
  readonly isRead?: FastifyContextConfig['isRead']
}

/** Sent byte for byte, because JSON may be signed. */
export class Raw {
  readonly body: string | Buffer
  readonly type: string

  constructor(body: string | Buffer, type = 'application/json; charset=utf-8') {
    this.body = body
    this.type = type
  }
}

/** A file to store: displayed, it could act as the user. */
export class Download {
  readonly bytes: Buffer
  readonly type: string
  /** Letters, digits, hyphens and dots. */
  readonly fileName: string

  constructor(bytes: Buffer, type: string, fileName: string) {
    this.bytes = bytes
    this.type = type
    this.fileName = fileName
  }

  send(reply: FastifyReply): FastifyReply {
    return reply
      .headers({
        'content-disposition': `attachment; filename="${this.fileName}"`,
        'content-security-policy': "sandbox; default-src 'none'",
        'cross-origin-resource-policy': 'same-origin',
      })
      .type(this.type.startsWith('text/') ? `${this.type}; charset=utf-8` : this.type)
      .send(this.bytes)
  }
}

/** Made after the request's slot and deadline have ended: for a request that waits. */
export class Later<T> {
  readonly finish: () => Promise<T>

  constructor(finish: () => Promise<T>) {
    this.finish = finish
  }
}

export function route<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType, R extends z.ZodType>(
  app: FastifyInstance,
  endpoint: Endpoint<P, Q, B, R>,
  handler: (
    input: Input<z.output<P>, z.output<Q>, z.output<B>>,
    context: RequestContext,
  ) => Promise<z.input<R> | Raw | Download | Lines | Later<z.input<R>>>,
  { isIdempotent = isReadOrDelete, isRead, ...options }: RouteOptions = {},
): void {
  const { method, path: url, access, scope, siteKeys, unit, statesTime, roles, bodyMedia, status } = endpoint
  app.route({
    ...options,
    method,
    url,
    config: { access, scope, siteKeys, unit, statesTime, roles, bodyMedia, isRead },
    handler: async (request, reply) => {
      request.isHandled = true
      const input = {
        params: endpoint.params?.parse(request.params) as z.output<P>,
        query: endpoint.query?.parse(parseQuery(request.raw.url ?? '')) as z.output<Q>,
        body: endpoint.body?.parse(request.body) as z.output<B>,
      }
      reply.code(status)
      const context = new RequestContext(request, reply)
      const work = withRetry(() => handler(input, context), retryOptions(request, isIdempotent(request)))
      const result = await withinDeadline(request, work)
      if (result instanceof Download) return result.send(reply)
      if (result instanceof Lines) return await sendLines(request, reply, result)
      if (result instanceof Later) {
        request.releaseSlot?.()
        return await result.finish()
      }
      return result instanceof Raw ? reply.type(result.type).send(result.body) : result
    },
  })
}

/** @throws Failure `not_found` for text that is not a UUID */
export function pathId({ id }: { readonly id: string }, message: string): string {
  const parsed = Uuid.safeParse(id)
  if (!parsed.success) throw new Failure('not_found', message)
  return parsed.data
}

/** A repeated change could undo one made in between. */
function isReadOrDelete({ method }: FastifyRequest): boolean {
  return method === 'GET' || method === 'DELETE'
}

/**
 * Limits a wait to the request's remaining time, which it reduces.
 * @throws Failure `unavailable`
 */
export function withinDeadline<T>(request: FastifyRequest, work: Promise<T>): Promise<T> {
  const start = performance.now()
  const timeLeftMs = readTimeLeft(request)
  return withTimeout(work, timeLeftMs, () => {
    request.timeLeftMs = Math.max(0, timeLeftMs - (performance.now() - start))
  })
}

export function retryOptions(request: FastifyRequest, isIdempotent: boolean): RetryOptions {
  return {
    isIdempotent,
    budgetMs: readTimeLeft(request),
    onRetry: code => getDiagnostics(request).retries.push(code),
  }
}

/** A request whose URL cannot be decoded has no decorations. */
function readTimeLeft({ timeLeftMs = databaseTimeoutMs }: FastifyRequest): number {
  return timeLeftMs
}
