import type { FastifyInstance, FastifyRequest } from 'fastify'
import type * as z from 'zod'
import type { Endpoint } from '../../src/contract/index.ts'
import type { Caller } from '../auth/caller.ts'
import { unavailable } from '../failure.ts'
import { parseQuery } from './query.ts'

/** How long a request may wait for the database, in milliseconds. */
const deadline = 5000

interface Input<P, Q, B> {
  readonly params: P
  readonly query: Q
  readonly body: B
}

/** What a handler may know and say besides its input and its result. */
export interface Exchange {
  readonly caller: Caller
  /** A header of the request by its name in lower case; one that was sent twice holds a line break. */
  header(name: string): string | undefined
  setHeader(name: string, value: string): void
}

/** Puts an endpoint of the contract onto Fastify: its schemas read the request, its status goes with the answer. */
export function route<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType, R extends z.ZodType>(
  app: FastifyInstance,
  endpoint: Endpoint<P, Q, B, R>,
  handler: (input: Input<z.output<P>, z.output<Q>, z.output<B>>, context: Exchange) => Promise<z.input<R>>,
): void {
  app.route({
    method: endpoint.method,
    url: endpoint.path,
    config: { counted: true },
    handler: async (request, reply) => {
      const input = {
        params: endpoint.params?.parse(request.params) as z.output<P>,
        query: endpoint.query?.parse(parseQuery(request.raw.url ?? '')) as z.output<Q>,
        body: endpoint.body?.parse(request.body) as z.output<B>,
      }
      reply.code(endpoint.status)
      const exchange: Exchange = {
        caller: callerOf(request),
        header: name => request.raw.headersDistinct[name]?.join('\n'),
        setHeader: (name, value) => void reply.header(name, value),
      }
      return await withinDeadline(handler(input, exchange))
    },
  })
}

/** What a promise resolves to, or `unavailable` when the deadline comes first. */
export async function withinDeadline<T>(work: Promise<T>, milliseconds = deadline): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(unavailable('The database did not answer in time.')), milliseconds)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}

function callerOf(request: FastifyRequest): Caller {
  if (!request.admission) throw new Error('a route was reached without authentication')
  return request.admission.caller
}
