import type { ReservedSql, Sql } from 'postgres'

/** The driver passes itself to its handler when first awaited. */
export interface Statement extends Promise<unknown> {
  handler: (statement: Statement) => void
  reject(error: Error): void
  /** Error after which the driver resent the statement. */
  readonly retried?: { readonly code?: unknown }
}

/** Replaces the driver's `begin`, which needs pipelining (README.md). Sends nothing once the connection is lost. */
export async function inTransaction<T>(
  sql: Sql,
  work: (tx: ReservedSql) => Promise<T>,
  isLost = () => false,
): Promise<T> {
  await sql`select 1` // the driver never reserves the first connection of a pool
  const reserved = await sql.reserve()
  const tx = guard(reserved, isLost)
  try {
    await tx`begin`
    const result = await work(tx)
    await tx`commit`
    return result
  } catch (error) {
    if (!endsConnection(error)) await tx`rollback`.catch(() => {})
    throw error
  } finally {
    reserved.release()
  }
}

function guard(tx: ReservedSql, isLost: () => boolean): ReservedSql {
  const guarded = (built: unknown) => {
    if (!(built instanceof Promise)) return built
    const statement = built as Statement
    const { handler } = statement
    statement.handler = own => (isLost() ? own.reject(connectionError('CONNECTION_CLOSED')) : handler(own))
    return statement
  }
  return new Proxy(tx, {
    apply: (_target, _this, args: Parameters<Sql>) => guarded(tx(...args)),
    get: (_target, name: keyof ReservedSql) => {
      if (name !== 'unsafe') return tx[name]
      // biome-ignore lint/plugin: passes on what a migration sends.
      return (...args: Parameters<Sql['unsafe']>) => guarded(tx.unsafe(...args))
    },
  })
}

export function connectionError(code: string): Error {
  return Object.assign(new Error('the database did not respond'), { code })
}

export function endsConnection(error: unknown): boolean {
  const { name, severity } = error as { name?: string; severity?: string }
  return name !== 'PostgresError' || severity === 'FATAL' || severity === 'PANIC'
}
