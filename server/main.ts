import { setFlagsFromString } from 'node:v8'
import type { Logger } from 'pino'
import type { Sql } from 'postgres'
import type { RunningServer, ServeOptions, ServerHost } from '../src/contract/index.ts'
import { hasAccounts } from './accounts/queries.ts'
import { createAccount } from './accounts/service.ts'
import { keepToOneself, workerFile } from './admin.ts'
import { createApp } from './app.ts'
import { startJobs } from './background-jobs.ts'
import { limitsOf } from './banner/routes.ts'
import { type Config, readConfig } from './config.ts'
import { deleteExpiredKeys } from './consents/idempotency.ts'
import { type Database, openDatabase } from './db/open.ts'
import { sharedSecret } from './db/secrets.ts'
import { coverAll } from './evidence/log.ts'
import { openSigner } from './evidence/signer.ts'
import { createLogger } from './http/logging.ts'
import { withinDeadline } from './http/route.ts'
import { drain, listen } from './http/server.ts'
import type { MetricsServer } from './metrics/metrics.ts'
import { openGeo } from './net/geo.ts'
import { purgeJob } from './purge/service.ts'
import { Quota } from './quota/quota.ts'

export { createAccount, purge, resetPassword } from './admin.ts'
export { exportDatabase, importDatabase } from './transfer/admin.ts'
export { takeCheckpoints, verifyDatabase } from './verify/admin.ts'

const minute = 60 * 1000

/**
 * Has V8 collect garbage when its heap has grown by so much of itself. A node has little that lives long; left to itself V8
 * takes half as much memory again for the same work in the same time.
 */
const thrift = '--heap-growing-percent=60'

/** Opens and migrates the database, then listens. Throws an OperatorError where the operator can mend it. */
export async function serve(options: ServeOptions, { env, onWait }: ServerHost): Promise<RunningServer> {
  const config = readConfig(options, env)
  keepToOneself()
  setFlagsFromString(thrift)
  const logger = createLogger(config.logLevel)
  const tell = (what: string) => (error: Error) => logger.error({ cause: error.message }, what)
  const geo = openGeo(config, tell('the database of countries cannot be read; new records have none'))
  const onTrouble = tell('the embedded database ended; it is started again')
  const metrics = await openMetrics(config)
  let database: Database | undefined
  const close = async () => {
    await database?.close()
    await metrics?.close()
  }
  try {
    database = await openDatabase(config, { workerFile, onWait, onTrouble })
    const { sql, publicSql, replicas } = database
    const quota = new Quota(sql)
    const [bannerLimits, observer] = [limitsOf(config), metrics?.observer]
    const secrets = await findSecrets(sql, config)
    const databases = { sql, publicSql, replicas }
    const app = createApp({ ...databases, config, geo, logger, observer, quota, bannerLimits, ...secrets })
    const isEmpty = !(await hasAccounts(sql))
    const url = await listen(app, config)
    logger.info({ url, metrics: metrics?.url, key_id: secrets.signer.keyId }, 'listening')
    const cover = (signal: AbortSignal) => coverAll({ sql, signer: secrets.signer, signal })
    const sweeping = { name: 'sweeping keys', every: 60 * minute, run: () => deleteExpiredKeys(sql) }
    const covering = { name: 'checkpoints', every: config.checkpointMinutes * minute, run: cover }
    const jobs = startJobs([sweeping, covering, purgeJob(sql, config)], logger)
    return {
      url,
      isEmpty,
      createAccount: draft => createAccount(sql, draft),
      hurry: () => app.server.closeAllConnections(),
      close: async () => {
        logger.info('stopping')
        const idle = jobs.stop()
        await drain(app)
        await withinDeadline(idle, 1000).catch(() => {})
        await coverLast(cover, logger)
        await withinDeadline(quota.settle(), 1000).catch(() => {}) // a database that hangs keeps nobody here
        await close()
        logger.info('stopped')
      },
    }
  } catch (cause) {
    await close()
    throw cause
  }
}

/** At a stop one more checkpoint, as far as a second goes: a service that is started often may never come to its turn. */
async function coverLast(cover: (signal: AbortSignal) => Promise<object | null>, logger: Logger) {
  const done = await withinDeadline(cover(AbortSignal.timeout(900)), 1000).catch(() => null)
  if (done) logger.info(done, 'checkpoints')
}

/** What cursors, sessions and documents are signed with, on every node alike. */
async function findSecrets(sql: Sql, { sessionSecret, signingKey }: Config) {
  return {
    signer: await openSigner(sql, signingKey),
    cursorSecret: await sharedSecret(sql, 'cursor'),
    subjectSecret: await sharedSecret(sql, 'subject'),
    sessionSecret: sessionSecret ? Buffer.from(sessionSecret) : await sharedSecret(sql, 'session'),
  }
}

/** Where nobody asks for metrics, nothing of them is loaded. */
async function openMetrics({ metricsPort }: Config): Promise<MetricsServer | null> {
  if (metricsPort === null) return null
  const { startMetrics } = await import('./metrics/metrics.ts')
  return await startMetrics(metricsPort)
}
