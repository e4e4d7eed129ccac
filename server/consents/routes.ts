import type { FastifyInstance } from 'fastify'
import { consents, Uuid } from '../../src/contract/index.ts'
import { Failure } from '../failure.ts'
import { route } from '../http/route.ts'
import { createConsent } from './create.ts'
import { readIdempotencyKey } from './idempotency.ts'
import { getPage } from './list.ts'
import * as service from './service.ts'

/** The six routes of the service specification's section 4. */
export function consentRoutes(
  app: FastifyInstance,
  deps: service.Deps & { readonly cursorSecret: Buffer },
): void {
  route(app, consents.create, async ({ body }, { caller, header, setHeader }) => {
    const { consent, isReplayed } = await createConsent(deps, caller, body, readIdempotencyKey(header))
    if (isReplayed) setHeader('idempotent-replayed', 'true')
    return consent
  })
  route(app, consents.list, ({ query }, { caller }) => getPage(deps, caller, query))
  route(app, consents.get, ({ params, query }, { caller }) =>
    service.getConsent(deps, caller, recordId(params.id), query.include_deleted ?? false),
  )
  route(app, consents.update, ({ params, body }, { caller }) =>
    service.updateConsent(deps, caller, recordId(params.id), body),
  )
  route(app, consents.remove, ({ params }, { caller }) =>
    service.deleteConsent(deps, caller, recordId(params.id)),
  )
  route(app, consents.history, ({ params }, { caller }) =>
    service.getHistory(deps, caller, recordId(params.id)),
  )
}

/** An id in a path; one that is no UUID names nothing, like one that nobody has. */
function recordId(text: string): string {
  const parsed = Uuid.safeParse(text)
  if (!parsed.success) throw new Failure('not_found', 'There is no such consent.')
  return parsed.data
}
