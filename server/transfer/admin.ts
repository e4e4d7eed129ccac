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

/** Writes a whole database, beside a running server or without one: as it is at the moment this begins. */
export function exportDatabase(
  options: DatabaseOptions,
  order: ExportOrder,
  host: ServerHost,
): Promise<Transferred> {
  return transfer(options, host, { verb: 'export', mayBeNew: false }, (sql, done) =>
    exportAll(sql, order, done),
  )
}

/** Fills an empty database, which is made where there is none yet. */
export function importDatabase(
  options: DatabaseOptions,
  order: ImportOrder,
  host: ServerHost,
): Promise<Transferred> {
  return transfer(options, host, { verb: 'import', mayBeNew: true }, (sql, done) =>
    importAll(sql, order, done),
  )
}

async function transfer(
  options: DatabaseOptions,
  host: ServerHost,
  { verb, mayBeNew }: { verb: 'export' | 'import'; mayBeNew: boolean },
  work: (sql: Sql, done: Transferred) => Promise<void>,
): Promise<Transferred> {
  const { sql, close } = await openShared(options, host, { mayBeNew })
  const done: Transferred = { rows: 0, records: 0 }
  const quiet = reportProgress(host, () => `${verb}ing: ${done.rows} rows so far`)
  try {
    await requireKnownSchema(sql)
    await work(sql, done)
    return done
  } catch (cause) {
    if (!['lost', 'unavailable', 'rejected', 'aborted'].includes(dbErrorKind(cause) ?? '')) throw cause
    throw new OperatorError(`the database did not answer to the end: nothing was ${verb}ed`, {
      obstacle: 'unavailable',
      hint: 'see what PostgreSQL says, and run it again',
      cause,
    })
  } finally {
    quiet()
    await close()
  }
}

async function requireKnownSchema(sql: Sql): Promise<void> {
  const later = await findLaterSchema(sql)
  if (later === undefined) return
  throw new OperatorError(`the database is of a later schema, ${later}, than this version knows`, {
    obstacle: 'conflict',
    hint: 'use the version of consentctl that has served it last',
  })
}
