import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Sql } from 'postgres'
import {
  type AccountDraft,
  type AccountPurge,
  type DatabaseOptions,
  type NewAccount,
  type NewPassword,
  OperatorError,
  type PurgeOrder,
  type ServerHost,
} from '../src/contract/index.ts'
import * as accounts from './accounts/service.ts'
import { type Config, readConfig } from './config.ts'
import { filesName } from './db/connect.ts'
import { openDatabase } from './db/open.ts'
import * as purges from './purge/service.ts'

/** The embedded database's thread, as the build lays it beside this file. */
export const workerFile = new URL('./db/embedded-worker.js', import.meta.url)

/** Days from a deletion to its purge where only the operator purges, and does not say. */
const usualPurgeAfterDays = 30

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

/** Purges every account, once what there is to purge is approved. */
export async function* purge(
  options: DatabaseOptions,
  { olderThan, approve, onUnverified, signal }: PurgeOrder,
  host: ServerHost,
): AsyncGenerator<AccountPurge> {
  const { sql, config, close } = await openShared(options, host, { mayBeNew: false })
  try {
    const days = olderThan ?? config.purgeAfterDays ?? usualPurgeAfterDays
    const before = purges.purgeBefore(days)
    const found = await purges.countPurge(sql, before, signal)
    const records = found.reduce((sum, own) => sum + own.purged + (days === 0 ? 0 : own.expired), 0)
    if (!signal.aborted && (await approve(found, records)))
      yield* purges.purge(sql, { before, signal, onUnverified })
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
  const { sql, close } = await openShared(options, host, { mayBeNew })
  try {
    return await work(sql)
  } finally {
    await close()
  }
}

/** Opens the database beside a running server, or without one. */
export async function openShared(
  options: DatabaseOptions,
  { env, onWait, onDefault }: ServerHost,
  { mayBeNew }: { mayBeNew: boolean },
): Promise<{ sql: Sql; config: Config; close: () => Promise<void> }> {
  keepToOneself()
  const config = readConfig(options, env)
  if (!config.databaseUrl) {
    const isNew = !existsSync(join(config.dataDir, filesName))
    if (isNew && !mayBeNew) throw noDatabase(config)
    const isNamed = Boolean(options.dataDir ?? env['CONSENTCTL_DATA_DIR'])
    if (!isNamed) onDefault?.(`${isNew ? 'a new' : 'the'} embedded database in ${config.dataDir}`)
  }
  const { sql, close } = await openDatabase(config, { workerFile, share: true, onWait })
  return { sql, config, close }
}

function noDatabase({ dataDir }: Config): OperatorError {
  return new OperatorError(`there is no database in ${dataDir}`, {
    obstacle: 'not_found',
    hint: 'name the one of your server with --data-dir or --database-url',
  })
}

/** Files of the embedded database are for this user alone; its file layer asks for 0666, and this takes the rest. */
export function keepToOneself(): void {
  process.umask(0o077)
}

/** Milliseconds until it is told how far the work is, for the first time and then again. */
const [firstWord, nextWord] = [2000, 10_000]

/** Tells how far work of an administrator is, where it takes long. Returns what ends that. */
export function tellProgress({ onWait }: ServerHost, say: () => string): () => void {
  const tell = () => {
    onWait?.(say())
    timer = setTimeout(tell, nextWord)
  }
  let timer = setTimeout(tell, firstWord)
  return () => {
    clearTimeout(timer)
    onWait?.(null)
  }
}
