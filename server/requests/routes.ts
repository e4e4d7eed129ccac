import type { FastifyInstance } from 'fastify'
import { requests } from '../../src/contract/index.ts'
import { pathId, route } from '../http/route.ts'
import * as service from './service.ts'

const unknown = 'There is no such request.'

const options = { isIdempotent: () => true }

export function requestRoutes(app: FastifyInstance, deps: service.RequestDeps): void {
  route(app, requests.create, ({ body }, { caller }) => service.createRequest(deps, caller, body), options)
  route(app, requests.list, ({ query }, { caller }) => service.getPage(deps, caller, query))
  route(app, requests.get, ({ params }, { caller }) => service.getRequest(deps, caller, pathId(params, unknown)))
  route(
    app,
    requests.update,
    ({ params, body }, { caller }) => service.changeRequest(deps, caller, pathId(params, unknown), body),
    options,
  )
}
