import type { FastifyInstance } from 'fastify'
import { evidence, sealedEvidence } from '../../src/contract/index.ts'
import { Admission } from '../admission.ts'
import type { AccessLog } from '../audit/access-log.ts'
import { getConsent, noConsent } from '../consents/service.ts'
import { Download, pathId, route } from '../http/route.ts'
import { type SubjectSecret, standInOf } from '../subjects/hmac.ts'
import { isSealed } from '../subjects/sealed-queries.ts'
import { type Deps, issuePack } from './pack.ts'

/** A pack takes up to 50 MB, and the time of the event loop. */
const limits = { running: 1, perTenant: 1, waiting: 4, message: 'This node is making other evidence packs.' }

export function packRoutes(app: FastifyInstance, deps: Deps & SubjectSecret & { readonly accessLog: AccessLog }): void {
  const admission = new Admission(limits)
  route(app, evidence, async ({ params }, { caller, until }) => {
    const id = pathId(params, 'There is no such consent.')
    const { subject_id } = await getConsent(deps, caller, id, true) // an unknown record is a 404 also while the queue is full
    const pack = await admission.run(caller.accountId, () => issuePack(deps, caller, id, until))
    deps.accessLog.record(caller, 'evidence', subject_id)
    return new Download(pack, 'application/x-tar', `evidence-${id}.tar`)
  })
  route(
    app,
    sealedEvidence,
    async ({ params, body: { subject_id } }, { caller, until }) => {
      const id = pathId(params, 'There is no such consent.')
      const presented = { subjectId: subject_id, hmac: standInOf(deps, caller, subject_id) }
      if (!(await isSealed(deps.sql, caller, id, presented.hmac))) throw noConsent()
      const pack = await admission.run(caller.accountId, () => issuePack(deps, caller, id, until, presented))
      deps.accessLog.record(caller, 'evidence', subject_id)
      return new Download(pack, 'application/x-tar', `evidence-${id}.tar`)
    },
    { isIdempotent: () => true, isRead: () => true },
  )
}
