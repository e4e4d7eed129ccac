import { join } from 'node:path'
import type { Sql } from 'postgres'
import { OperatorError } from '../../src/contract/index.ts'
import type { Config } from '../config.ts'
import { type Connection, connect, socketName } from './connect.ts'
import { type EmbeddedOptions, startEmbedded } from './embedded.ts'
import { answers } from './lock.ts'
import { migrate } from './migrate.ts'

export interface Database {
  readonly sql: Sql
  close(): Promise<void>
}

export interface OpenOptions extends EmbeddedOptions {
  /** Use the embedded database of a running server instead of starting it. */
  readonly share?: boolean
}

/** Opens the database that the configuration names, and migrates it. Throws an OperatorError where it cannot. */
export async function openDatabase(config: Config, options: OpenOptions): Promise<Database> {
  const { databaseUrl: url, dataDir: folder } = config
  if (url) return migrated({ target: { url }, max: 10 })
  // One backend serves all: a second connection would wait for the first.
  const connection = { target: { folder }, max: 1 }
  if (options.share && (await answers(join(folder, socketName)))) return migrated(connection)
  const embedded = await startEmbedded(folder, options)
  return await migrated(connection, () => embedded.close())
}

async function migrated(connection: Connection, closeEmbedded = async () => {}): Promise<Database> {
  let sql: Sql | undefined
  const close = async () => {
    await sql?.end({ timeout: 5 })
    await closeEmbedded()
  }
  try {
    sql = connect(connection)
    await migrate(sql)
    return { sql, close }
  } catch (cause) {
    await close()
    throw new OperatorError(`the database cannot be used: ${(cause as Error).message || String(cause)}`, {
      hint: 'check the database URL, and that its user may create tables',
      cause,
    })
  }
}
