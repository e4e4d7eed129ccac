// The routes that a schedule uses, and a description that says what the instance supports.
import type { IncomingMessage } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { consentRoutes } from '../../../server/consents/routes.ts'
import { eventRoutes } from '../../../server/events/routes.ts'
import { usageRoutes } from '../../../server/quota/usage.ts'

const keyed = { post: { parameters: [{ in: 'header', name: 'Idempotency-Key' }] } }
const paths = { '/api/v1/consents': keyed, '/api/v1/consents/batch': keyed }

/** True for an instance of another make, which neither takes batches nor keeps keys. */
export const instance = { isForeign: false }

export function installRoutes(app: FastifyInstance, deps: never): void {
  const handler = async () => ({ openapi: '3.1.1', paths: instance.isForeign ? {} : paths })
  app.route({ method: 'GET', url: '/api/v1/openapi.json', config: { access: 'anyone' }, handler })
  if (instance.isForeign) app.addHook('onRequest', async ({ raw }) => forgetKey(raw))
  consentRoutes(app, deps)
  usageRoutes(app, deps)
  eventRoutes(app, deps)
}

function forgetKey({ headers, rawHeaders }: IncomingMessage): void {
  delete headers['idempotency-key']
  const index = rawHeaders.findIndex(name => name.toLowerCase() === 'idempotency-key')
  if (index >= 0) rawHeaders.splice(index, 2)
}
