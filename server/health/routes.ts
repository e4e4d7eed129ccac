import type { FastifyInstance } from 'fastify'
import type { Sql } from 'postgres'
import { health } from '../../src/contract/index.ts'
import { unavailable } from '../failure.ts'
import { withinDeadline } from '../http/route.ts'
import { isDraining, noteLook } from '../http/server.ts'

/** How long the database has to prove that it is there, in milliseconds. */
const patience = 1000

/** For load balancers and supervisors: whether the process answers, and whether its database does. */
export function healthRoutes(app: FastifyInstance, sql: Sql): void {
  const config = { access: health.live.access }
  app.get(health.live.path, { config }, async () => ({ status: 'ok' }))
  let probe: Promise<unknown> | undefined // one for all who ask at the same time
  app.get(health.ready.path, { config }, async () => {
    noteLook(app.server)
    if (isDraining(app.server)) throw unavailable('The service is about to stop.')
    probe ??= withinDeadline(sql`select 1`, patience).finally(() => {
      probe = undefined
    })
    await probe
    return { status: 'ok' }
  })
}
