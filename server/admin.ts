import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Sql } from 'postgres'
import {
  type AccountPurge,
  type AccountRow,
  type DatabaseOptions,
  OperatorError,
  type PurgeOrder,
  type ServerHost,
  type UserInfo,
} from '../src/contract/index.ts'
import * as accounts from './accounts/service.ts'
import * as users from './accounts/users.ts'
import { machine } from './audit/entries.ts'
import { type Config, readConfig } from './config.ts'
import { filesName } from './db/connect.ts'
import { explainLoss, explainLossOf, openDatabase } from './db/open.ts'
import { checkClock } from './health/monitor.ts'
import * as purges from './purge/service.ts'

export const workerFile = new URL('./db/embedded-worker.js', import.meta.url)

const defaultPurgeAfterDays = 30

type Command<Order, T> = (options: DatabaseOptions, order: Order, host: ServerHost) => Promise<T>

interface Access {
  readonly mayBeNew?: boolean
  /** False for changes, which are dated by this machine's clock. */
  readonly isRead?: boolean
}

function command<Order, T>(
  work: (sql: Sql, order: Order) => Promise<T>,
  { mayBeNew = false, isRead = false }: Access = {},
): Command<Order, T> {
  return async (options, order, host) => {
    const { sql, config, close } = await openShared(options, host, { mayBeNew })
    try {
      return await explainLoss(config, async () => {
        if (!isRead) await checkClock(sql)
        return await work(sql, order)
      })
    } finally {
      await close()
    }
  }
}

export const createAccount = command(accounts.createAccount, { mayBeNew: true })
export const setQuota = command(accounts.setQuota)
export const resetPassword = command(accounts.resetPassword)
export const addUser = command(users.addUser)
export const removeUser = command(users.removeUser)
export const listUsers: Command<string | undefined, UserInfo[]> = command(users.listUsers, { isRead: true })

const readAccounts = command(accounts.listAccounts, { isRead: true })

export function listAccounts(options: DatabaseOptions, host: ServerHost): Promise<AccountRow[]> {
  return readAccounts(options, undefined, host)
}

export async function* purge(
  options: DatabaseOptions,
  { olderThan, approve, onUnverified, onProblem, signal }: PurgeOrder,
  host: ServerHost,
): AsyncGenerator<AccountPurge> {
  const { sql, config, close } = await openShared(options, host, { mayBeNew: false })
  try {
    const days = olderThan ?? config.purgeAfterDays ?? defaultPurgeAfterDays
    const before = purges.purgeBefore(days)
    const found = await explainLoss(config, () => purges.countPurge(sql, before, signal))
    const records = found.reduce((sum, own) => sum + own.purged + (days === 0 ? 0 : own.expired), 0)
    if (!signal.aborted && (await approve(found, records)))
      yield* explainLossOf(config, purges.purge(sql, { by: machine, before, signal, onUnverified, onProblem }))
  } finally {
    await close()
  }
}

export async function openShared(
  options: DatabaseOptions,
  { env, onWait, onDefault }: ServerHost,
  { mayBeNew, isUnlimited = false }: { mayBeNew: boolean; isUnlimited?: boolean },
): Promise<{ sql: Sql; config: Config; close: () => Promise<void> }> {
  restrictFileModes()
  const config = readConfig(options, env)
  if (!config.databaseUrl) {
    if (!mayBeNew && isNew(config))
      throw new OperatorError(`no database in ${config.dataDir}`, {
        code: 'not_found',
        hint: 'specify the database of your server with --data-dir or --database-url',
      })
    const isNamed = Boolean(options.dataDir ?? env['CONSENTCTL_DATA_DIR'])
    if (!isNamed) onDefault?.(describeEmbedded(config))
  }
  const { sql, close } = await openDatabase(config, { workerFile, share: true, isUnlimited, onWait })
  return { sql, config, close }
}

export function describeEmbedded(config: Config): string {
  return `${isNew(config) ? 'a new' : 'the'} embedded database in ${config.dataDir}`
}

function isNew({ dataDir }: Config): boolean {
  return !existsSync(join(dataDir, filesName))
}

/** The embedded database creates files with mode 0666 less the umask. */
export function restrictFileModes(): void {
  process.umask(0o077)
}

const firstProgressMs = 2000
const progressIntervalMs = 10_000

export function reportProgress({ onWait }: ServerHost, describe: () => string): () => void {
  const report = () => {
    onWait?.(describe())
    timer = setTimeout(report, progressIntervalMs)
  }
  let timer = setTimeout(report, firstProgressMs)
  return () => {
    clearTimeout(timer)
    onWait?.(null)
  }
}
