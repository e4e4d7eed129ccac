import { type Logger, pino } from 'pino'
import type { Outcome } from './outcome.ts'

/** As much of a logger as is used. */
export type Log = Pick<Logger, 'info' | 'error'>

/** Milliseconds from one write to the next: lines between them are written together, for a write costs more than they do. */
const patience = 50

/** How many characters wait at most. */
const most = 8192

/** JSON lines on stderr; one that tells of an error, and all before it, at once. */
export function createLogger(level: string): Logger {
  const stderr = pino.destination({ dest: 2, sync: true })
  let waiting = ''
  let timer: NodeJS.Timeout | undefined
  const flush = () => {
    clearTimeout(timer)
    timer = undefined
    if (waiting === '') return
    const text = waiting
    waiting = ''
    timer = setTimeout(flush, patience).unref()
    stderr.write(text) // never flushSync, which tries for ever where stderr is closed or its disk full
  }
  process.once('exit', flush)
  const lines = {
    [Symbol.for('pino.metadata')]: true, // has pino tell the level of each line
    lastLevel: 0,
    write(line: string) {
      waiting += line
      if (!timer || waiting.length > most || pino.levels.labels[this.lastLevel] === 'error') flush()
    },
  }
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, lines)
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
