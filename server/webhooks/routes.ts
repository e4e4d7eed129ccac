import type { FastifyInstance } from 'fastify'
import { webhooks } from '../../src/contract/index.ts'
import { Admission } from '../admission.ts'
import { Later, pathId, route } from '../http/route.ts'
import * as service from './service.ts'

/** A test may wait ten seconds for the endpoint. */
const tests = new Admission({ running: 5, perTenant: 2, waiting: 10, message: 'Too many tests are running.' })

export function webhookRoutes(app: FastifyInstance, deps: service.WebhookDeps): void {
  const idOf = (params: { readonly id: string }) => pathId(params, service.unknownWebhook)
  route(app, webhooks.list, (_, { caller }) => service.getWebhooks(deps, caller))
  route(app, webhooks.get, ({ params }, { caller }) => service.getWebhook(deps, caller, idOf(params)))
  route(app, webhooks.create, ({ body }, { caller }) => service.createWebhook(deps, caller, body))
  route(app, webhooks.update, ({ params, body }, { caller }) =>
    service.changeSettings(deps, caller, idOf(params), body),
  )
  route(app, webhooks.remove, ({ params }, { caller }) => service.removeWebhook(deps, caller, idOf(params)))
  route(app, webhooks.rotateSecret, ({ params, body }, { caller }) =>
    service.rotateSecret(deps, caller, idOf(params), body),
  )
  route(app, webhooks.test, async ({ params }, { caller }) => {
    const id = idOf(params)
    return new Later(() => tests.run(caller.accountId, () => service.sendTest(deps, caller, id)))
  })
  route(app, webhooks.rewind, ({ params, body }, { caller }) => service.rewind(deps, caller, idOf(params), body))
}
