import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Sql } from 'postgres'
import {
  type AccountDraft,
  type DatabaseOptions,
  type NewAccount,
  type NewPassword,
  OperatorError,
  type RunningServer,
  type ServeOptions,
  type ServerHost,
} from '../src/contract/index.ts'
import { hasAccounts } from './accounts/queries.ts'
import * as accounts from './accounts/service.ts'
import { createApp } from './app.ts'
import { limitsOf } from './banner/routes.ts'
import { type Config, readConfig } from './config.ts'
import { sweepKeys } from './consents/idempotency.ts'
import { filesName } from './db/connect.ts'
import { type Database, openDatabase } from './db/open.ts'
import { sharedSecret } from './db/secrets.ts'
import { openGeo } from './geo/lookup.ts'
import { listen } from './http/listening.ts'
import { createLogger } from './http/logging.ts'
import { withinDeadline } from './http/route.ts'
import { drain } from './http/wire.ts'
import type { MetricsServer } from './metrics/server.ts'
import { Quota } from './quota/quota.ts'

/** The embedded database's thread, as the build lays it beside this file. */
const workerFile = new URL('./db/embedded-worker.js', import.meta.url)

/** How often Idempotency-Keys that no longer count are swept out, in milliseconds. */
const sweepInterval = 60 * 60 * 1000

/** Opens and migrates the database, then listens. Throws an OperatorError where the operator can mend it. */
export async function serve(options: ServeOptions, { env, onWait }: ServerHost): Promise<RunningServer> {
  const config = readConfig(options, env)
  keepToOneself()
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
    const { sql, publicSql } = database
    const quota = new Quota(sql)
    const [bannerLimits, observer] = [limitsOf(config), metrics?.observer]
    const secrets = await findSecrets(sql, config)
    const app = createApp({ sql, publicSql, config, geo, logger, observer, quota, bannerLimits, ...secrets })
    const isEmpty = !(await hasAccounts(sql))
    const url = await listen(app, config)
    logger.info({ url, metrics: metrics?.url }, 'listening')
    const sweep = setInterval(() => sweepKeys(sql).catch(() => {}), sweepInterval)
    return {
      url,
      isEmpty,
      createAccount: draft => accounts.createAccount(sql, draft),
      hurry: () => app.server.closeAllConnections(),
      close: async () => {
        logger.info('stopping')
        clearInterval(sweep)
        await drain(app)
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

/** What cursors and sessions are signed with, on every node alike. */
async function findSecrets(sql: Sql, { sessionSecret }: Config) {
  return {
    cursorSecret: await sharedSecret(sql, 'cursor'),
    sessionSecret: sessionSecret ? Buffer.from(sessionSecret) : await sharedSecret(sql, 'session'),
  }
}

/** Where nobody asks for metrics, nothing of them is loaded. */
async function openMetrics({ metricsPort }: Config): Promise<MetricsServer | null> {
  if (metricsPort === null) return null
  const { startMetrics } = await import('./metrics/server.ts')
  return await startMetrics(metricsPort)
}

/** Creates an account in the database, beside a running server or without one. */
export async function createAccount(
  options: DatabaseOptions,
  draft: AccountDraft,
  host: ServerHost,
): Promise<NewAccount> {
  return await withDatabase(options, host, { mayBeNew: true }, sql => accounts.createAccount(sql, draft))
}

/** Gives a user a new password, and ends every session of that user. */
export async function resetPassword(
  options: DatabaseOptions,
  user: { readonly email: string; readonly password?: string | undefined },
  host: ServerHost,
): Promise<NewPassword> {
  return await withDatabase(options, host, { mayBeNew: false }, sql => accounts.resetPassword(sql, user))
}

/** Works on the database beside a running server, or without one. */
async function withDatabase<T>(
  options: DatabaseOptions,
  { env, onWait, onDefault }: ServerHost,
  { mayBeNew }: { mayBeNew: boolean },
  work: (sql: Sql) => Promise<T>,
): Promise<T> {
  keepToOneself()
  const config = readConfig(options, env)
  if (!config.databaseUrl) {
    const isNew = !existsSync(join(config.dataDir, filesName))
    if (isNew && !mayBeNew) throw noDatabase(config)
    const isNamed = Boolean(options.dataDir ?? env['CONSENTCTL_DATA_DIR'])
    if (!isNamed) onDefault?.(`${isNew ? 'a new' : 'the'} embedded database in ${config.dataDir}`)
  }
  const database = await openDatabase(config, { workerFile, share: true, onWait })
  try {
    return await work(database.sql)
  } finally {
    await database.close()
  }
}

function noDatabase({ dataDir }: Config): OperatorError {
  return new OperatorError(`there is no database in ${dataDir}`, {
    obstacle: 'not_found',
    hint: 'name the one of your server with --data-dir or --database-url',
  })
}

/** Files of the embedded database are for this user alone; its file layer asks for 0666, and this takes the rest. */
function keepToOneself(): void {
  process.umask(0o077)
}
