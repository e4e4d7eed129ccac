import type { FastifyInstance, FastifyReply, FastifyRequest, RouteShorthandOptions } from 'fastify'
import type * as z from 'zod'
import { type Endpoint, Uuid } from '../../src/contract/index.ts'
import type { Caller } from '../auth/caller.ts'
import { type RetryOptions, withRetry } from '../db/errors.ts'
import { Failure, unavailable } from '../failure.ts'
import { notesOf } from './logging.ts'
import { headerOf, parseQuery } from './parsing.ts'
import { Lines, sendLines } from './stream.ts'

/** How long a request may wait for the database, in milliseconds. */
export const deadline = 5000

interface Input<P, Q, B> {
  readonly params: P
  readonly query: Q
  readonly body: B
}

/** What a handler may know and say besides its input and its result. */
export class Exchange {
  readonly request: FastifyRequest
  /** A header of the request by its name in lower case; one that was sent twice holds a line break. */
  readonly header: (name: string) => string | undefined
  readonly setHeader: (name: string, value: string) => void

  constructor(request: FastifyRequest, reply: FastifyReply) {
    this.request = request
    this.header = name => headerOf(request.raw, name)
    this.setHeader = (name, value) => void reply.header(name, value)
  }

  get caller(): Caller {
    const { caller } = this.request
    if (!caller) throw new Error('a route was reached without authentication')
    return caller
  }
}

export interface RouteOptions extends RouteShorthandOptions {
  /** Whether a request may be done twice; reads and deletions may, unless it is said. */
  readonly isRepeatable?: (request: FastifyRequest) => boolean
}

/** JSON that is sent as it is, to the byte: what is signed must not be written anew. */
export class Verbatim {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/** Puts an endpoint of the contract onto Fastify: its schemas read the request, its status goes with the answer. */
export function route<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType, R extends z.ZodType>(
  app: FastifyInstance,
  endpoint: Endpoint<P, Q, B, R>,
  handler: (
    input: Input<z.output<P>, z.output<Q>, z.output<B>>,
    exchange: Exchange,
  ) => Promise<z.input<R> | Verbatim | Lines>,
  { isRepeatable = isHarmlessTwice, ...options }: RouteOptions = {},
): void {
  const { method, path: url, access, scope, neverRefused, status } = endpoint
  app.route({
    ...options,
    method,
    url,
    config: { access, scope, neverRefused },
    handler: async (request, reply) => {
      const input = {
        params: endpoint.params?.parse(request.params) as z.output<P>,
        query: endpoint.query?.parse(parseQuery(request.raw.url ?? '')) as z.output<Q>,
        body: endpoint.body?.parse(request.body) as z.output<B>,
      }
      reply.code(status)
      const exchange = new Exchange(request, reply)
      const work = () => handler(input, exchange)
      const answer = await inTime(request, withRetry(work, retriesOf(request, isRepeatable(request))))
      if (answer instanceof Lines) return await sendLines(request, reply, answer)
      return answer instanceof Verbatim
        ? reply.type('application/json; charset=utf-8').send(answer.text)
        : answer
    },
  })
}

/** The id in a path. Throws `not_found` for one that is no UUID: it names nothing, like one that nobody has. */
export function pathId({ id }: { readonly id: string }, unknown: string): string {
  const parsed = Uuid.safeParse(id)
  if (!parsed.success) throw new Failure('not_found', unknown)
  return parsed.data
}

/** What a promise resolves to, or `unavailable` when the deadline comes first; `onEnd` is told when either comes. */
export function withinDeadline<T>(work: Promise<T>, milliseconds: number, onEnd = () => {}): Promise<T> {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer)
      onEnd()
    }
    const timer = setTimeout(() => {
      onEnd()
      reject(tooLate())
    }, milliseconds)
    work.then(
      value => {
        end()
        resolve(value)
      },
      error => {
        end()
        reject(error)
      },
    )
  })
}

function tooLate(): Failure {
  return unavailable('The database did not answer in time.', { code: 'DEADLINE' })
}

/** The same within what is left of the request's patience: its waits together are no longer than one may be. */
export function inTime<T>(request: FastifyRequest, work: Promise<T>): Promise<T> {
  const start = performance.now()
  const { patience = deadline } = request // a URL that cannot be decoded makes a request without it
  return withinDeadline(work, patience, () => {
    request.patience = Math.max(0, patience - (performance.now() - start))
  })
}

/** How a request's work on the database is tried again. */
export function retriesOf(request: FastifyRequest, isRepeatable: boolean): RetryOptions {
  const { patience = deadline } = request
  return {
    isIdempotent: isRepeatable,
    budgetMs: patience,
    onRetry: code => notesOf(request).retries.push(code),
  }
}

/**
 * A change that is done twice would undo what somebody else has changed in between; a deletion that is finds nothing the
 * second time.
 */
function isHarmlessTwice({ method }: FastifyRequest): boolean {
  return method === 'GET' || method === 'DELETE'
}
