import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Sql } from 'postgres'
import {
  type AccountDraft,
  type AccountPurge,
  type AccountRow,
  type DatabaseOptions,
  type NewAccount,
  type NewPassword,
  type NewUser,
  OperatorError,
  type PurgeOrder,
  type QuotaOrder,
  type RemovedUser,
  type ServerHost,
  type UserDraft,
  type UserInfo,
} from '../src/contract/index.ts'
import * as accounts from './accounts/service.ts'
import * as users from './accounts/users.ts'
import { machine } from './audit/entries.ts'
import { type Config, readConfig } from './config.ts'
import { filesName } from './db/connect.ts'
import { explainLoss, explainLossOf, openDatabase } from './db/open.ts'
import { checkClock } from './health/clock.ts'
import * as purges from './purge/service.ts'

export const workerFile = new URL('./db/embedded-worker.js', import.meta.url)

const defaultPurgeAfterDays = 30

export async function createAccount(
  options: DatabaseOptions,
  draft: AccountDraft,
  host: ServerHost,
): Promise<NewAccount> {
  return await withDatabase(options, host, { mayBeNew: true }, async sql => {
    await checkClock(sql)
    return await accounts.createAccount(sql, draft)
  })
}

export async function listAccounts(options: DatabaseOptions, host: ServerHost): Promise<readonly AccountRow[]> {
  return await withDatabase(options, host, { mayBeNew: false }, sql => accounts.listAccounts(sql))
}

export async function setQuota(options: DatabaseOptions, order: QuotaOrder, host: ServerHost): Promise<AccountRow> {
  return await withDatabase(options, host, { mayBeNew: false }, async sql => {
    await checkClock(sql)
    return await accounts.setQuota(sql, order)
  })
}

export async function addUser(options: DatabaseOptions, draft: UserDraft, host: ServerHost): Promise<NewUser> {
  return await withDatabase(options, host, { mayBeNew: false }, async sql => {
    await checkClock(sql)
    return await users.addUser(sql, draft)
  })
}

export async function listUsers(
  options: DatabaseOptions,
  account: string | undefined,
  host: ServerHost,
): Promise<readonly UserInfo[]> {
  return await withDatabase(options, host, { mayBeNew: false }, sql => users.listUsers(sql, account))
}

export async function removeUser(
  options: DatabaseOptions,
  { email, ...user }: { readonly email: string; readonly keepKeys?: boolean | undefined },
  host: ServerHost,
): Promise<RemovedUser> {
  return await withDatabase(options, host, { mayBeNew: false }, async sql => {
    await checkClock(sql)
    return await users.removeUser(sql, email, user)
  })
}

export async function resetPassword(
  options: DatabaseOptions,
  user: { readonly email: string; readonly password?: string | undefined },
  host: ServerHost,
): Promise<NewPassword> {
  return await withDatabase(options, host, { mayBeNew: false }, async sql => {
    await checkClock(sql)
    return await accounts.resetPassword(sql, user)
  })
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

async function withDatabase<T>(
  options: DatabaseOptions,
  host: ServerHost,
  { mayBeNew }: { mayBeNew: boolean },
  work: (sql: Sql) => Promise<T>,
): Promise<T> {
  const { sql, config, close } = await openShared(options, host, { mayBeNew })
  try {
    return await explainLoss(config, () => work(sql))
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
    if (!mayBeNew && isNew(config)) throw noDatabase(config)
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

function noDatabase({ dataDir }: Config): OperatorError {
  return new OperatorError(`no database in ${dataDir}`, {
    code: 'not_found',
    hint: 'name the database of your server with --data-dir or --database-url',
  })
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
