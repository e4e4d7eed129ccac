import {
  type AccountDraft,
  type DatabaseOptions,
  type NewAccount,
  OperatorError,
  type RunningServer,
  type ServeOptions,
  type ServerHost,
} from '../src/contract/index.ts'
import { hasAccounts } from './accounts/queries.ts'
import * as accounts from './accounts/service.ts'
import { createApp } from './app.ts'
import { readConfig } from './config.ts'
import { validity } from './consents/idempotency.ts'
import { forgetKeys } from './consents/queries.ts'
import { openDatabase } from './db/open.ts'
import { sharedSecret } from './db/secrets.ts'
import { createLogger } from './http/logging.ts'
import { drain } from './http/wire.ts'

/** The embedded database's thread, as the build lays it beside this file. */
const workerFile = new URL('./db/embedded-worker.js', import.meta.url)

/** How often Idempotency-Keys that no longer count are swept out, in milliseconds. */
const sweepInterval = 60 * 60 * 1000

/** Opens and migrates the database, then listens. Throws an OperatorError where the operator can mend it. */
export async function serve(options: ServeOptions, { env, onWait }: ServerHost): Promise<RunningServer> {
  const config = readConfig(options, env)
  keepToOneself()
  const logger = createLogger(config.logLevel)
  const onTrouble = (error: Error) =>
    logger.error({ cause: error.message }, 'the embedded database ended; it is started again')
  const database = await openDatabase(config, { workerFile, onWait, onTrouble })
  const { sql } = database
  try {
    const app = createApp({ sql, config, logger, cursorSecret: await sharedSecret(sql, 'cursor') })
    const isEmpty = !(await hasAccounts(sql))
    const url = await app.listen({
      host: config.host,
      port: config.port,
      listenTextResolver: address => `listening on ${address}`,
    })
    const sweep = setInterval(
      () => forgetKeys(sql, new Date(Date.now() - validity)).catch(() => {}),
      sweepInterval,
    )
    return {
      url,
      isEmpty,
      createAccount: draft => accounts.createAccount(sql, draft),
      hurry: () => app.server.closeAllConnections(),
      close: async () => {
        logger.info('stopping')
        clearInterval(sweep)
        await drain(app)
        await database.close()
        logger.info('stopped')
      },
    }
  } catch (cause) {
    await database.close()
    throw explainListen(cause as NodeJS.ErrnoException, config)
  }
}

/** Creates an account in the database, beside a running server or without one. */
export async function createAccount(
  options: DatabaseOptions,
  draft: AccountDraft,
  { env, onWait }: ServerHost,
): Promise<NewAccount> {
  keepToOneself()
  const database = await openDatabase(readConfig(options, env), { workerFile, share: true, onWait })
  try {
    return await accounts.createAccount(database.sql, draft)
  } finally {
    await database.close()
  }
}

/** Files of the embedded database are for this user alone; its file layer asks for 0666, and this takes the rest. */
function keepToOneself(): void {
  process.umask(0o077)
}

function explainListen(
  cause: NodeJS.ErrnoException,
  { host, port }: { host: string; port: number },
): unknown {
  if (cause.code === 'EADDRINUSE') {
    return new OperatorError(`port ${port} of ${host} is in use`, {
      hint: 'choose another with --port',
      cause,
    })
  }
  if (cause.code === 'EACCES' || cause.code === 'EADDRNOTAVAIL' || cause.code === 'ENOTFOUND') {
    return new OperatorError(`cannot listen on ${host}:${port}: ${cause.message}`, { cause })
  }
  return cause
}
