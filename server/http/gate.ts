import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Sql } from 'postgres'
import { type Admission, admit } from '../auth/caller.ts'
import { refund } from '../auth/queries.ts'
import { noRoute, wrongMethod } from './failures.ts'
import { withinDeadline } from './route.ts'

declare module 'fastify' {
  interface FastifyRequest {
    admission: Admission | null
  }
  interface FastifyContextConfig {
    /** Answers without a credential. */
    open?: boolean
    /** Takes a unit of the caller's monthly quota. */
    counted?: boolean
    /** The methods that this path has, where the request's is none of them. */
    allow?: string
  }
}

/**
 * Who may pass, before anything of a request is parsed: the credential first, then the route, then the quota
 * (`unauthorized`, `not_found`, `quota_exceeded`). A unit spent on a request that fails on our side is given back.
 */
export function installGate(app: FastifyInstance, sql: Sql): void {
  app.decorateRequest('admission', null)
  app.addHook('onRequest', async (request, reply) => {
    const { open, counted, allow } = request.routeOptions.config
    if (!open) {
      request.admission = await enter(request, sql, counted ?? false)
      reply.headers(request.admission.headers)
    }
    if (allow !== undefined) throw wrongMethod(allow)
  })
  app.addHook('onResponse', async (request, reply) => {
    if (request.admission && reply.statusCode >= 500) await giveBack(sql, request.admission)
  })
}

/** A stranger is told nothing, not even that a URL cannot be decoded. */
export async function refuseUrl(request: FastifyRequest, sql: Sql): Promise<never> {
  await enter(request, sql, false)
  throw noRoute()
}

async function enter(request: FastifyRequest, sql: Sql, counted: boolean): Promise<Admission> {
  const admission = admit(sql, request.headers.authorization, counted)
  try {
    return await withinDeadline(admission)
  } catch (error) {
    // A unit that is spent after the deadline was spent on a 503.
    admission.then(late => giveBack(sql, late)).catch(() => {})
    throw error
  }
}

async function giveBack(sql: Sql, { caller, month }: Admission): Promise<void> {
  if (month) await refund(sql, { accountId: caller.accountId, month })
}
