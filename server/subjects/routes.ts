import type { FastifyInstance, FastifyRequest } from 'fastify'
import { check, purgedPerUnit, subjects } from '../../src/contract/index.ts'
import { dbErrorCode } from '../db/errors.ts'
import { spendForAll } from '../http/gate.ts'
import { getDiagnostics } from '../http/logging.ts'
import { route } from '../http/route.ts'
import type { Quota } from '../quota/quota.ts'
import { checkSubject } from './check.ts'
import { certifyPurge, purgeSubject } from './purge-certificate.ts'
import { type Deps, eraseSubject, getNearMatches, newProgress, type Progress } from './service.ts'

const progresses = new WeakMap<FastifyRequest, Progress>()

function progressOf(request: FastifyRequest): Progress {
  const known = progresses.get(request)
  if (known) return known
  const log = (error: unknown) => void getDiagnostics(request).retries.push(dbErrorCode(error) ?? '')
  const progress = newProgress(request.id, performance.now() + request.timeLeftMs, log)
  progresses.set(request, progress)
  return progress
}

function isDryRun(body: unknown): boolean {
  return (body as { dry_run?: unknown } | null | undefined)?.dry_run === true
}

export function subjectRoutes(app: FastifyInstance, deps: Deps & { readonly quota: Quota }): void {
  route(app, check, ({ query }, { caller }) => checkSubject(deps, caller, query))
  route(app, subjects.erase, ({ body }, { caller, request }) => eraseSubject(deps, caller, body, progressOf(request)), {
    isIdempotent: () => true,
    isRead: isDryRun,
  })
  route(
    app,
    subjects.certifyPurge,
    async ({ body }, context) => {
      const { caller, request } = context
      await spendForAll(deps.quota, context, body.ids.length, purgedPerUnit)
      const until = performance.now() + request.timeLeftMs
      return await certifyPurge(deps, caller, body, { requestId: request.id, until })
    },
    {
      isIdempotent: () => true,
    },
  )
  route(
    app,
    subjects.purge,
    ({ body }, { caller, request }) =>
      purgeSubject(deps, caller, body, {
        requestId: request.id,
        timeLeftMs: request.timeLeftMs,
        onProblem: problem => void getDiagnostics(request).problems.push(problem),
      }),
    {
      isIdempotent: () => true,
      isRead: isDryRun,
    },
  )
  route(app, subjects.nearMatches, ({ body }, { caller }) => getNearMatches(deps, caller, body), {
    isIdempotent: () => true,
    isRead: () => true,
  })
}
