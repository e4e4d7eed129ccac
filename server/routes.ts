import type { FastifyInstance } from 'fastify'
import type { Sql } from 'postgres'
import { auditRoutes } from './audit/routes.ts'
import { bannerRoutes } from './banner/routes.ts'
import { consentRoutes } from './consents/routes.ts'
import { documentRoutes } from './documents/routes.ts'
import { eventRoutes } from './events/routes.ts'
import { logRoutes, signingKeyRoutes } from './evidence/routes.ts'
import { healthRoutes } from './health/routes.ts'
import { holdRoutes } from './holds/routes.ts'
import { keyRoutes } from './keys/routes.ts'
import { noticeRoutes } from './notices/routes.ts'
import { openapiRoutes } from './openapi/document.ts'
import { packRoutes } from './packs/routes.ts'
import { usageRoutes } from './quota/usage.ts'
import { requestRoutes } from './requests/routes.ts'
import { sessionRoutes } from './session/routes.ts'
import { siteRoutes } from './sites/routes.ts'
import { statsRoutes } from './stats/routes.ts'
import { subjectRoutes } from './subjects/routes.ts'
import { webhookRoutes } from './webhooks/routes.ts'

type Deps<Routes extends (app: FastifyInstance, deps: never) => void> = Parameters<Routes>[1]

type RouteDeps = Deps<typeof healthRoutes> &
  Deps<typeof sessionRoutes> &
  Deps<typeof consentRoutes> &
  Deps<typeof bannerRoutes> &
  Deps<typeof keyRoutes> &
  Deps<typeof siteRoutes> &
  Deps<typeof noticeRoutes> &
  Deps<typeof subjectRoutes> &
  Deps<typeof requestRoutes> &
  Deps<typeof documentRoutes> &
  Deps<typeof holdRoutes> &
  Deps<typeof usageRoutes> &
  Deps<typeof eventRoutes> &
  Deps<typeof webhookRoutes> &
  Deps<typeof auditRoutes> &
  Deps<typeof signingKeyRoutes> &
  Deps<typeof logRoutes> &
  Deps<typeof packRoutes> & { readonly publicSql: Sql }

export function installRoutes(app: FastifyInstance, deps: RouteDeps): void {
  healthRoutes(app, deps)
  openapiRoutes(app)
  sessionRoutes(app, deps)
  consentRoutes(app, deps)
  bannerRoutes(app, { ...deps, sql: deps.publicSql })
  keyRoutes(app, deps)
  siteRoutes(app, deps)
  noticeRoutes(app, deps)
  subjectRoutes(app, deps)
  requestRoutes(app, deps)
  documentRoutes(app, deps)
  holdRoutes(app, deps)
  eventRoutes(app, deps)
  webhookRoutes(app, deps)
  auditRoutes(app, deps)
  usageRoutes(app, deps)
  statsRoutes(app, deps)
  signingKeyRoutes(app, deps)
  logRoutes(app, deps)
  packRoutes(app, deps)
}
