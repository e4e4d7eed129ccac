import type { FastifyInstance } from 'fastify'
import type { Sql } from 'postgres'
import { health } from '../../src/contract/index.ts'
import { withTimeout } from '../db/errors.ts'
import { unavailable } from '../failure.ts'
import { isDraining, recordProbe } from '../http/server.ts'
import { type NodeState, readOnlyReason, requireWritable } from './monitor.ts'

const probeTimeoutMs = 1000

interface HealthDeps {
  readonly sql: Sql
  readonly state: NodeState
}

export function healthRoutes(app: FastifyInstance, { sql, state }: HealthDeps): void {
  const config = { access: health.live.access }
  app.get(health.live.path, { config }, async () => ({ status: 'ok' }))
  let probe: Promise<unknown> | undefined
  const requireReady = async () => {
    recordProbe(app.server)
    if (isDraining(app.server)) throw unavailable('The service is stopping.')
    probe ??= withTimeout(sql`select 1`, probeTimeoutMs).finally(() => {
      probe = undefined
    })
    await probe
  }
  app.get(health.ready.path, { config }, async () => {
    await requireReady()
    const reason = readOnlyReason(state)
    return reason === null ? { status: 'ok' } : { status: 'read-only', reason }
  })
  app.get(health.writable.path, { config }, async () => {
    await requireReady()
    requireWritable(state)
    return { status: 'ok' }
  })
}
