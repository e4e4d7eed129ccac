import type { Sql } from 'postgres'
import type { DatabaseFinding, Inspected } from '../../src/contract/index.ts'
import { withRetry } from '../db/errors.ts'

export interface Work {
  readonly sql: Sql
  readonly signal: AbortSignal
  readonly inspected: Inspected
}

/** A finding about an account. `consent_id` and `version` are null if it concerns none. */
export type Found = Pick<DatabaseFinding, 'problem' | 'detail'> &
  Partial<Pick<DatabaseFinding, 'consent_id' | 'version'>>

export function reading<T>(read: () => Promise<T>): Promise<T> {
  return withRetry(read, { isIdempotent: true, budgetMs: 10_000, onRetry: () => {} })
}

/** Returns null if stored values make `read` throw. */
export function attempt<T>(read: () => T): T | null {
  try {
    return read()
  } catch {
    return null
  }
}

/** Reads pages of up to `limit` rows, each after the last row of the previous page. */
export async function* pages<Row>(
  limit: number,
  read: (after: Row | undefined) => Promise<readonly Row[]>,
): AsyncGenerator<readonly Row[], undefined> {
  for (let after: Row | undefined; ; ) {
    const rows = await read(after)
    yield rows
    after = rows.at(-1)
    if (rows.length < limit) return
  }
}
