import type { FastifyInstance } from 'fastify'
import type { Sql } from 'postgres'
import { health } from '../../src/contract/index.ts'
import { withinDeadline } from '../http/route.ts'

/** How long the database has to prove that it is there, in milliseconds. */
const patience = 1000

/** For load balancers and supervisors: whether the process answers, and whether its database does. */
export function healthRoutes(app: FastifyInstance, sql: Sql): void {
  const config = { open: true }
  app.get(health.live.path, { config }, async () => ({ status: 'ok' }))
  app.get(health.ready.path, { config }, async () => {
    await withinDeadline(sql`select 1`, patience)
    return { status: 'ok' }
  })
}
