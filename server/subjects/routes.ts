import type { FastifyInstance, FastifyRequest } from 'fastify'
import { check, checkedPerUnit, checkMany, purgedPerUnit, sealedLimit, subjects } from '../../src/contract/index.ts'
import type { AccessLog } from '../audit/access-log.ts'
import { isKeyCaller } from '../auth/caller.ts'
import type { ConsentDeps } from '../consents/deps.ts'
import { dbErrorCode } from '../db/errors.ts'
import { spendForAll, spendIfLeft } from '../http/gate.ts'
import { getDiagnostics } from '../http/logging.ts'
import { route } from '../http/route.ts'
import type { Quota } from '../quota/quota.ts'
import { checkSubject, checkSubjects } from './check.ts'
import { standInOf } from './hmac.ts'
import { certifyPurge, purgeSubject } from './purge-certificate.ts'
import { listSealed } from './sealed-queries.ts'
import { type Deps, eraseSubject, getNearMatches, newProgress } from './service.ts'
import { newWithdrawal, withdrawPurposes } from './withdraw.ts'

type MakeProgress<P> = (request: FastifyRequest, until: number, log: (error: unknown) => void) => P

/** Returns the same progress for all retries of a request. */
function progressOf<P extends object>(make: MakeProgress<P>): (request: FastifyRequest) => P {
  const progresses = new WeakMap<FastifyRequest, P>()
  return request => {
    const known = progresses.get(request)
    if (known) return known
    const log = (error: unknown) => void getDiagnostics(request).retries.push(dbErrorCode(error) ?? '')
    const progress = make(request, performance.now() + request.timeLeftMs, log)
    progresses.set(request, progress)
    return progress
  }
}

/** Fits 1,000 identifiers of 255 characters, fully escaped. */
const checkBodyBytes = 2 * 1024 * 1024

const erasureOf = progressOf(({ id }, until, log) => newProgress(id, until, log))
const withdrawalOf = progressOf((_, until, log) => newWithdrawal(until, log))

function isDryRun(body: unknown): boolean {
  return (body as { dry_run?: unknown } | null | undefined)?.dry_run === true
}

type RouteDeps = Deps & Pick<ConsentDeps, 'notices'> & { readonly quota: Quota; readonly accessLog: AccessLog }

export function subjectRoutes(app: FastifyInstance, deps: RouteDeps): void {
  const { accessLog } = deps
  route(app, check, async ({ query }, { caller }) => {
    const answer = await checkSubject(deps, caller, query)
    accessLog.record(caller, 'check', query.subject_id)
    return answer
  })
  route(
    app,
    checkMany,
    async ({ body }, context) => {
      const { caller } = context
      await spendIfLeft(deps.quota, context, body.subject_ids.length, checkedPerUnit)
      const answers = await checkSubjects(deps, caller, body)
      await accessLog.recordAll(caller, 'check', body.subject_ids)
      return answers
    },
    { isIdempotent: () => true, isRead: () => true, bodyLimit: checkBodyBytes },
  )
  route(
    app,
    subjects.erase,
    async ({ body }, { caller, request }) => {
      const erased = await eraseSubject(deps, caller, body, erasureOf(request))
      if (body.dry_run) accessLog.record(caller, 'erasure_preview', body.subject_id)
      return erased
    },
    { isIdempotent: () => true, isRead: isDryRun },
  )
  route(
    app,
    subjects.withdraw,
    async ({ body }, { caller, request }) => {
      const withdrawn = await withdrawPurposes(deps, caller, body, withdrawalOf(request))
      if (body.dry_run) accessLog.record(caller, 'withdrawal_preview', body.subject_id)
      return withdrawn
    },
    { isIdempotent: () => true, isRead: isDryRun },
  )
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
  route(
    app,
    subjects.nearMatches,
    async ({ body }, { caller }) => {
      const near = await getNearMatches(deps, caller, body)
      accessLog.record(caller, 'near_matches', body.subject_id)
      return near
    },
    { isIdempotent: () => true, isRead: () => true },
  )
  route(
    app,
    subjects.sealed,
    async ({ body: { subject_id, record_id: recordId } }, { caller }) => {
      const subjectHmac = standInOf(deps, caller, subject_id)
      const rows = await listSealed(deps.sql, caller, { subjectHmac, recordId }, sealedLimit)
      accessLog.record(caller, 'sealed', subject_id)
      const mayRead = !isKeyCaller(caller) || caller.scopes.includes('read')
      return {
        data: rows.map(({ answers, ...row }) => ({
          ...row,
          purged_at: row.purged_at.toISOString(),
          ...(answers && mayRead && { answers }),
        })),
      }
    },
    { isIdempotent: () => true, isRead: () => true },
  )
}
