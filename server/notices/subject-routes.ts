import type { FastifyInstance } from 'fastify'
import { noticeSubjects } from '../../src/contract/index.ts'
import { unknownSite } from '../failure.ts'
import { pathId, RawJson, route } from '../http/route.ts'
import { type Deps, getSubjects } from './subjects.ts'

export function noticeSubjectRoutes(app: FastifyInstance, deps: Deps): void {
  route(app, noticeSubjects, async ({ params, query }, { caller }) => {
    const siteId = pathId(params, unknownSite)
    return new RawJson(await getSubjects(deps, caller, { siteId, version: params.version }, query))
  })
}
