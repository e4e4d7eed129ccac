import type { Sql } from 'postgres'

/** A statement of postgres.js as its pool sees it: it is handed over when somebody first waits for it. */
export interface Statement extends Promise<unknown> {
  handler: (statement: Statement) => void
  reject(error: Error): void
}

/** An error of the connection itself, or the last word of its backend. */
export function endsConnection(error: unknown): boolean {
  if (error === undefined) return false
  const { name, severity } = error as { name?: string; severity?: string }
  return name !== 'PostgresError' || severity === 'FATAL' || severity === 'PANIC'
}

/** What a driver's pool does with a statement that somebody waits for. */
export function handlerOf(sql: Sql): Statement['handler'] {
  return (sql`` as unknown as Statement).handler
}

export function trouble(code: string): Error {
  return Object.assign(new Error('the database did not answer'), { code })
}
