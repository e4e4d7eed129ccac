import type { FastifyInstance } from 'fastify'
import { subjects } from '../../src/contract/index.ts'
import { route } from '../http/route.ts'
import { type Deps, eraseSubject } from './service.ts'

/** The part of a request's patience that deleting may take: the rest is for what is said of it, and for a second try. */
const share = 0.3

export function subjectRoutes(app: FastifyInstance, deps: Deps): void {
  route(
    app,
    subjects.erase,
    ({ body }, { caller, request }) =>
      eraseSubject(deps, caller, body, performance.now() + share * request.patience),
    { isRepeatable: () => true },
  )
}
