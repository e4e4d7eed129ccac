import { type Logger, pino } from 'pino'
import type { Outcome } from './outcome.ts'

/** As much of a logger as is used. */
export type Log = Pick<Logger, 'info' | 'error'>

/** JSON lines on stderr. */
export function createLogger(level: string): Logger {
  return pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime },
    pino.destination({ dest: 2, sync: true }),
  )
}

/** One line a request, with what may be told of it and nothing else. */
export function logOutcome(logger: Log, outcome: Outcome): void {
  const { requestId, method, route, status, milliseconds, accountId, callerKind, error, fault, retries } =
    outcome
  logger[fault ? 'error' : 'info'](
    {
      request_id: requestId,
      method,
      route,
      status,
      ms: Math.round(milliseconds),
      ...(accountId && { account_id: accountId, caller: callerKind }),
      ...(error && { error }),
      ...(fault && { cause: fault.cause, code: fault.code, stack: fault.stack }),
      ...(retries.length > 0 && { retries }),
    },
    fault?.message ?? 'request',
  )
}
