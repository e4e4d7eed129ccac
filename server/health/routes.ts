import type { FastifyInstance } from 'fastify'
import type { Sql } from 'postgres'
import { health } from '../../src/contract/index.ts'
import { unavailable } from '../failure.ts'
import { withTimeout } from '../http/deadline.ts'
import { isDraining, recordProbe } from '../http/server.ts'

const databaseTimeoutMs = 1000

export function healthRoutes(app: FastifyInstance, sql: Sql): void {
  const config = { access: health.live.access }
  app.get(health.live.path, { config }, async () => ({ status: 'ok' }))
  let probe: Promise<unknown> | undefined // shared by concurrent requests
  app.get(health.ready.path, { config }, async () => {
    recordProbe(app.server)
    if (isDraining(app.server)) throw unavailable('The service is about to stop.')
    probe ??= withTimeout(sql`select 1`, databaseTimeoutMs).finally(() => {
      probe = undefined
    })
    await probe
    return { status: 'ok' }
  })
}
