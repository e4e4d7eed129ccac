import type { Sql } from 'postgres'
import {
  type DatabaseOptions,
  type ExportOrder,
  type ImportOrder,
  OperatorError,
  type ServerHost,
  type Transferred,
} from '../../src/contract/index.ts'
import { openShared, reportProgress } from '../admin.ts'
import { dbErrorKind } from '../db/errors.ts'
import { exportAll } from './export.ts'
import { importAll } from './import.ts'
import { findLaterSchema } from './queries.ts'

/** Exports a snapshot, even while a server is running. */
export function exportDatabase(options: DatabaseOptions, order: ExportOrder, host: ServerHost): Promise<Transferred> {
  return transfer(options, host, { verb: 'export', mayBeNew: false }, (sql, done) => exportAll(sql, order, done))
}

export function importDatabase(options: DatabaseOptions, order: ImportOrder, host: ServerHost): Promise<Transferred> {
  return transfer(options, host, { verb: 'import', mayBeNew: true }, (sql, done) => importAll(sql, order, done))
}

async function transfer(
  options: DatabaseOptions,
  host: ServerHost,
  { verb, mayBeNew }: { verb: 'export' | 'import'; mayBeNew: boolean },
  work: (sql: Sql, done: Transferred) => Promise<void>,
): Promise<Transferred> {
  const { sql, close } = await openShared(options, host, { mayBeNew })
  const done: Transferred = { rows: 0, records: 0 }
  const stopProgress = reportProgress(host, () => `${verb}ing: ${done.rows} rows so far`)
  try {
    await requireKnownSchema(sql)
    await work(sql, done)
    return done
  } catch (cause) {
    if (!['lost', 'unavailable', 'rejected', 'aborted'].includes(dbErrorKind(cause) ?? '')) throw cause
    throw new OperatorError(`the connection to the database was lost: nothing was ${verb}ed`, {
      code: 'unavailable',
      hint: 'see the PostgreSQL log, then run the command again',
      cause,
    })
  } finally {
    stopProgress()
    await close()
  }
}

async function requireKnownSchema(sql: Sql): Promise<void> {
  const later = await findLaterSchema(sql)
  if (later === undefined) return
  throw new OperatorError(`the database has a newer schema than this version supports: ${later}`, {
    code: 'conflict',
    hint: 'use the version of consentctl that last ran on it',
  })
}
