import type { FastifyInstance } from 'fastify'
import { api } from '../../src/contract/index.ts'
import { describeApi } from './document.ts'

/** The description of the API, made when it is first asked for. */
export function openapiRoutes(app: FastifyInstance): void {
  let text: string | undefined
  app.get(api.description.get.path, { config: { access: 'anyone' } }, async (_request, reply) => {
    text ??= JSON.stringify(describeApi())
    return reply.type('application/json; charset=utf-8').send(text)
  })
}
