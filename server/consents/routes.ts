import type { FastifyInstance } from 'fastify'
import { consents } from '../../src/contract/index.ts'
import type { Signer } from '../evidence/signer.ts'
import { pathId, route, Verbatim } from '../http/route.ts'
import { createConsent } from './create.ts'
import { readIdempotencyKey } from './idempotency.ts'
import { getPage } from './list.ts'
import { issueReceipt } from './receipt.ts'
import * as service from './service.ts'

const unknown = 'There is no such consent.'

/** The six routes of the service specification's section 4, and the receipt. */
export function consentRoutes(
  app: FastifyInstance,
  deps: service.Deps & { readonly cursorSecret: Buffer; readonly signer: Signer },
): void {
  route(
    app,
    consents.create,
    async ({ body }, { caller, header, setHeader }) => {
      const { shown, isReplayed } = await createConsent(deps, caller, body, readIdempotencyKey(header))
      if (isReplayed) setHeader('idempotent-replayed', 'true')
      return new Verbatim(shown)
    },
    { isRepeatable: ({ headers }) => headers['idempotency-key'] !== undefined },
  )
  route(app, consents.list, async ({ query }, { caller }) => new Verbatim(await getPage(deps, caller, query)))
  route(app, consents.get, async ({ params, query }, { caller }) => {
    const id = pathId(params, unknown)
    return new Verbatim(await service.getConsent(deps, caller, id, query.include_deleted ?? false))
  })
  route(
    app,
    consents.update,
    async ({ params, body }, { caller }) =>
      new Verbatim(await service.updateConsent(deps, caller, pathId(params, unknown), body)),
  )
  route(
    app,
    consents.remove,
    async ({ params }, { caller }) =>
      new Verbatim(await service.deleteConsent(deps, caller, pathId(params, unknown))),
  )
  route(app, consents.history, ({ params }, { caller }) =>
    service.getHistory(deps, caller, pathId(params, unknown)),
  )
  route(
    app,
    consents.receipt,
    async ({ params }, { caller }) => new Verbatim(await issueReceipt(deps, caller, pathId(params, unknown))),
  )
}
