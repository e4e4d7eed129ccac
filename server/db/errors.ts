import { setTimeout as delay } from 'node:timers/promises'

/**
 * What went wrong with a statement, by the code of its error: a SQLSTATE (PostgreSQL's appendix A), or the code of an
 * error of the connection.
 */
export type Trouble =
  /** The connection was lost, and nobody knows what became of the statement. */
  | 'lost'
  /** It met another one and was undone. */
  | 'undone'
  /** It was refused before it began, for a reason that is gone on another connection or with a new plan. */
  | 'refused'
  /** The database is down, full or busy. */
  | 'unavailable'
  /** A value that no request should have brought this far. */
  | 'unstorable'
  | 'conflict'
  | 'missing'

/** Errors of sockets and of TLS, and those of the driver itself. */
const ofConnection =
  /^(E[A-Z]+|CONNECT(ION)?_\w+|ERR_(TLS|SSL)_\w+|(CERT|SELF_SIGNED|DEPTH_ZERO|UNABLE_TO)_\w+|DEADLINE)$/

/** The first that fits decides. */
const troubles: readonly (readonly [codes: RegExp, trouble: Trouble])[] = [
  [/^(57P0[125]|CONNECTION_CLOSED|ECONNRESET|EPIPE)$/, 'lost'],
  [/^(40001|40P01)$/, 'undone'],
  [/^(25006|26000|0A000)$/, 'refused'],
  [/^(08|28|3D|40|53|55|57|58)...$/, 'unavailable'],
  [ofConnection, 'unavailable'],
  [/^(22|54)...$/, 'unstorable'],
  [/^23505$/, 'conflict'],
  [/^23503$/, 'missing'],
]

/** What trouble an error is; null for one that is none of the database, or a mistake in this program. */
export function troubleOf(error: unknown): Trouble | null {
  const code = codeOf(error)
  return code === null ? null : (troubles.find(([codes]) => codes.test(code))?.[1] ?? null)
}

/** Whether a statement that failed was certainly not done: undone, refused, or never sent. */
export function wasNotDone(error: unknown): boolean {
  return /^(40001|40P01|25006|26000|0A000|55P03|57014|57P03|53...|ECONNREFUSED|CONNECT_TIMEOUT)$/.test(
    codeOf(error) ?? '',
  )
}

/** The code of an error of the database, or of the connection to it; null for any other error. */
export function codeOf(error: unknown): string | null {
  const { code } = (error ?? {}) as { code?: unknown }
  if (typeof code !== 'string') return null
  return ofConnection.test(code) || /^[\dA-Z]{5}$/.test(code) ? code : null
}

/** A SQLSTATE's class, such as `40`; `connection` for what is none. */
export function classOf(code: string): string {
  return ofConnection.test(code) ? 'connection' : code.slice(0, 2)
}

/** How often work is tried again, by what went wrong. */
const retries: Partial<Record<Trouble, number>> = { undone: 3, refused: 1, lost: 1 }

/** How long before the first retry at most, in milliseconds; each one after it may wait as much longer. */
const longestDelay = 40

export interface RetryOptions {
  /** Whether the work may be done twice: then it is also tried again where the first try may have been done. */
  readonly isRepeatable: boolean
  /** Milliseconds after which it is not begun again. */
  readonly patience: number
  /** Told of the code of each error that is answered with a retry. */
  readonly onRetry: (code: string) => void
}

/**
 * Work on the database, tried again where that may help. Where a first try may have been done after all, only the success
 * of the second is believed: a deletion that was done, and is tried again, finds nothing.
 */
export async function retried<T>(
  work: () => Promise<T>,
  { isRepeatable, patience, onRetry }: RetryOptions,
): Promise<T> {
  const until = performance.now() + patience
  let doubt: { readonly error: unknown } | undefined
  for (let failures = 1; ; failures += 1) {
    try {
      return await work()
    } catch (error) {
      if (doubt) throw doubt.error
      const trouble = troubleOf(error)
      if (trouble === 'lost') doubt = { error }
      const isAllowed = isRepeatable || trouble !== 'lost'
      const wait = Math.random() * longestDelay * failures
      const most = (trouble && isAllowed && retries[trouble]) || 0
      if (failures > most || performance.now() + wait > until) throw error
      onRetry(codeOf(error) ?? '')
      await delay(wait)
    }
  }
}
