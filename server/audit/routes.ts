import type { FastifyInstance } from 'fastify'
import { audit } from '../../src/contract/index.ts'
import { route } from '../http/route.ts'
import { type AuditDeps, getPage } from './service.ts'

export function auditRoutes(app: FastifyInstance, deps: AuditDeps): void {
  route(app, audit.list, ({ query }, { caller }) => getPage(deps, caller, query))
}
