import type { FastifyInstance } from 'fastify'
import { audit, reads } from '../../src/contract/index.ts'
import { route } from '../http/route.ts'
import { getReads, type ReadsDeps } from './reads.ts'
import { type AuditDeps, getPage } from './service.ts'

export function auditRoutes(app: FastifyInstance, deps: AuditDeps & ReadsDeps): void {
  route(app, audit.list, ({ query }, { caller }) => getPage(deps, caller, query))
  route(app, reads, ({ query }, { caller }) => getReads(deps, caller, query))
}
