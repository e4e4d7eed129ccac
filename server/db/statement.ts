import type { Sql } from 'postgres'
import { codeOf } from './errors.ts'

/** A statement of postgres.js as its pool sees it: it is handed over when somebody first waits for it. */
export interface Statement extends Promise<unknown> {
  handler: (statement: Statement) => void
  reject(error: Error): void
  /** The error after which the driver has prepared it anew and sent it again. */
  readonly retried?: unknown
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

/** Whether the backend knew nothing of a statement that was prepared on its connection (26000). */
export function wasForgotten({ retried }: Statement): boolean {
  return codeOf(retried) === '26000'
}
