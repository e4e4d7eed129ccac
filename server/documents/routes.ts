import type { FastifyInstance } from 'fastify'
import { documentLimit, documents } from '../../src/contract/index.ts'
import type { AccessLog } from '../audit/access-log.ts'
import { route } from '../http/route.ts'
import * as service from './service.ts'

/** In JSON, quotation marks and line feeds take two bytes. */
const bodyLimit = 2 * documentLimit

export function documentRoutes(
  app: FastifyInstance,
  { accessLog, ...deps }: service.DocumentDeps & { readonly accessLog: AccessLog },
): void {
  route(app, documents.keep, ({ body }, { caller }) => service.keepDocument(deps, caller, body), {
    isIdempotent: () => true,
    bodyLimit,
  })
  route(app, documents.list, ({ query }, { caller }) => service.getPage(deps, caller, query))
  route(
    app,
    documents.hmacs,
    async ({ body }, { caller }) => {
      await accessLog.recordAll(caller, 'hmacs', body.subject_ids)
      return service.getHmacs(deps, caller, body)
    },
    { isIdempotent: () => true, isRead: () => true },
  )
}
