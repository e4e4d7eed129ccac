import type { FastifyInstance } from 'fastify'
import { evidence } from '../../src/contract/index.ts'
import { Download, pathId, route } from '../http/route.ts'
import { type Deps, issuePack } from './pack.ts'

export function packRoutes(app: FastifyInstance, deps: Deps): void {
  route(app, evidence, async ({ params }, { caller }) => {
    const id = pathId(params, 'There is no such consent.')
    return new Download(await issuePack(deps, caller, id), 'application/x-tar', `evidence-${id}.tar`)
  })
}
