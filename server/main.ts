import { setFlagsFromString } from 'node:v8'
import type { Logger } from 'pino'
import type { Sql } from 'postgres'
import type { RunningServer, ServeOptions, ServerHost } from '../src/contract/index.ts'
import { hasAccounts } from './accounts/queries.ts'
import { createAccount } from './accounts/service.ts'
import { describeEmbedded, restrictFileModes, workerFile } from './admin.ts'
import { createApp } from './app.ts'
import { AccessLog } from './audit/access-log.ts'
import { type Job, startJobs } from './background-jobs.ts'
import { toBannerLimits } from './banner/routes.ts'
import { type Config, readConfig } from './config.ts'
import { deleteExpiredKeys } from './consents/idempotency.ts'
import { originSecretName } from './consents/origin.ts'
import { withTimeout } from './db/errors.ts'
import { mayChangeHistory } from './db/grants.ts'
import { type Database, explainLoss, openDatabase } from './db/open.ts'
import { sharedSecret } from './db/secrets.ts'
import { backdatedMessage, coverAll, type Log } from './evidence/log.ts'
import { openSigner, signingSettings } from './evidence/signer.ts'
import { checkClock, Monitor, readOnlyReason } from './health/monitor.ts'
import { createLogger } from './http/logger.ts'
import { drain, listen } from './http/server.ts'
import type { MetricsServer } from './metrics/metrics.ts'
import { readFacts } from './metrics/queries.ts'
import { openGeo } from './net/geo.ts'
import { purgeJob } from './purge/service.ts'
import { Quota } from './quota/quota.ts'
import { statisticsJob } from './stats/counting.ts'
import { timestampJob } from './timestamps/job.ts'
import { requireOpenssl } from './timestamps/openssl.ts'
import { startWatchdog } from './watchdog.ts'
import { Dispatcher } from './webhooks/dispatcher.ts'
import { Sender } from './webhooks/sender.ts'

export {
  addUser,
  createAccount,
  listAccounts,
  listUsers,
  purge,
  removeUser,
  resetPassword,
  setQuota,
} from './admin.ts'
export { grantsFor } from './db/grants.ts'
export { restartSigningKeys, revokeSigningKey } from './evidence/admin.ts'
export { exportDatabase, importDatabase } from './transfer/admin.ts'
export { takeCheckpoints, verifyDatabase } from './verify/admin.ts'

const minuteMs = 60 * 1000

/** Without this flag V8 uses half as much memory again. */
const memoryFlags = '--heap-growing-percent=60'

export async function serve(
  options: ServeOptions,
  { env, onWait, onEmbedded, signal, holdsLog }: ServerHost,
): Promise<RunningServer> {
  const config = readConfig(options, env)
  restrictFileModes()
  if (!config.databaseUrl) onEmbedded?.(describeEmbedded(config))
  if (config.tsa) await requireOpenssl()
  setFlagsFromString(memoryFlags)
  const { logger, countDropped, show } = createLogger(config.logLevel, holdsLog)
  const logError = (message: string) => (error: Error) => logger.error({ cause: error.message }, message)
  const geo = openGeo(config, logError('the GeoIP database cannot be read; new records have no country'))
  const onTrouble = logError('the embedded database ended; restarting it')
  const metrics = await openMetrics(config)
  metrics?.watchLog(countDropped)
  const watchdog = startWatchdog(config.watchdogSeconds)
  let database: Database | undefined
  let monitor: Monitor | undefined
  const close = async () => {
    monitor?.stop()
    await database?.close()
    await metrics?.close()
    await watchdog?.stop()
  }
  try {
    database = await openDatabase(config, { workerFile, onWait, onTrouble, signal })
    const { sql, publicSql, monitorSql, replicas } = database
    const state = await explainLoss(config, () => Monitor.start(monitorSql, logger))
    monitor = state
    metrics?.watchMonitor(state)
    metrics?.watchFacts(() => readFacts(monitorSql))
    const quota = new Quota(sql, { now: () => state.now(), canWrite: () => state.databaseProblem() === null })
    const secrets = await explainLoss(config, () => readSecrets(sql, config))
    const onBackdated: Log['onBackdated'] = (account_id, entries) => {
      metrics?.countBackdated(entries.length)
      logger.error({ account_id, cause: backdatedMessage(entries) }, 'back-dated entries')
    }
    const accessLog = new AccessLog(sql, secrets, reads =>
      logger.error({ reads }, 'reads are missing from the access log: the database took no writes'),
    )
    const sender = new Sender(config.webhookAllow)
    const app = createApp({
      ...{ sql, publicSql, replicas, config, geo, logger, quota, accessLog, sender, state, ...secrets },
      observer: metrics?.observer,
      bannerLimits: toBannerLimits(config),
      onBackdated,
    })
    const mayChange = await explainLoss(config, () => mayChangeHistory(sql))
    const isEmpty = !(await explainLoss(config, () => hasAccounts(sql)))
    const url = await listen(app, config)
    logger.info({ url, metrics: metrics?.url, key_id: secrets.signer.keyId }, 'listening')
    logger.info(`the database role ${mayChange ? 'may' : 'may not'} change history`)
    const checkpoints: Job = {
      name: 'checkpoints',
      intervalMs: config.checkpointMinutes * minuteMs,
      run: signal => coverAll({ sql, signer: secrets.signer, signal, onBackdated }),
    }
    const sweep: Job = {
      name: 'sweeping keys',
      intervalMs: 60 * minuteMs,
      run: () => deleteExpiredKeys(sql),
    }
    const canWrite = () => readOnlyReason(state) === null
    const purging = purgeJob(sql, config, cause => {
      metrics?.countPurgeFailure()
      logger.error({ cause }, 'purging')
    })
    const stamping = config.tsa ? [timestampJob({ sql, tsa: config.tsa, logger, counts: metrics ?? undefined })] : []
    const dispatcher = new Dispatcher({
      sql,
      sender,
      logger,
      now: () => state.now().getTime(),
      onAttempt: metrics?.countWebhookAttempt,
    })
    const jobs = startJobs([sweep, checkpoints, statisticsJob(sql), purging, dispatcher.job, ...stamping], {
      logger,
      canWrite,
      onEnd: metrics?.onJobEnd,
    })
    return {
      url,
      isEmpty,
      createAccount: async draft => {
        await checkClock(sql)
        return await createAccount(sql, draft)
      },
      abortRequests: () => app.server.closeAllConnections(),
      showLog: show,
      close: async () => {
        logger.info('stopping')
        const stopped = jobs.stop()
        await drain(app)
        await withTimeout(
          stopped.then(() => dispatcher.ended()),
          1000,
        ).catch(() => {})
        await sender.close()
        if (canWrite()) await takeLastCheckpoints(checkpoints, logger)
        // A hanging database must not delay the stop.
        await Promise.all([quota.settle(), accessLog.close()].map(work => withTimeout(work, 1000).catch(() => {})))
        await close()
        logger.info('stopped')
      },
    }
  } catch (cause) {
    await close()
    throw cause
  }
}

/** A service that restarts often may never reach the job's interval. */
async function takeLastCheckpoints({ name, run }: Job, logger: Logger): Promise<void> {
  const done = await withTimeout(run(AbortSignal.timeout(900)), 1000).catch(() => null)
  if (done) logger.info(done, name)
}

async function readSecrets(sql: Sql, config: Config) {
  const { sessionSecret } = config
  return {
    signer: await openSigner(sql, config.signingKey, signingSettings(config)),
    cursorSecret: await sharedSecret(sql, 'cursor'),
    consentTokenSecret: await sharedSecret(sql, 'consent token'),
    subjectSecret: await sharedSecret(sql, 'subject'),
    originSecret: await sharedSecret(sql, originSecretName),
    sessionSecret: sessionSecret ? Buffer.from(sessionSecret) : await sharedSecret(sql, 'session'),
  }
}

async function openMetrics({ metricsHost, metricsPort }: Config): Promise<MetricsServer | null> {
  if (metricsPort === null) return null
  const { startMetrics } = await import('./metrics/metrics.ts')
  return await startMetrics(metricsPort, metricsHost)
}
