import { CliError, type Exit, exit } from '../errors/errors.ts'
import type { Host, Stop } from './io.ts'

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const satisfies readonly Stop[]

/**
 * A signal that is aborted by the first SIGINT, SIGTERM or SIGHUP, with the error that the command then ends with: what is under
 * way can be finished, and what has come of it told. The next one ends the process as ever.
 */
export function onInterruption(host: Host): AbortSignal {
  const controller = new AbortController()
  const listeners = signals.map(signal => {
    const listener = () => {
      for (const [index, each] of signals.entries()) host.off(each, listeners[index] ?? listener)
      controller.abort(interruptedError(signal === 'SIGINT' ? exit.interrupted : exit.terminated))
    }
    host.on(signal, listener)
    return listener
  })
  return controller.signal
}

/** What a command that was told to stop ends with. */
export function interruptedError(code: Exit = exit.interrupted, what = ''): CliError {
  return new CliError('interrupted', code, `interrupted${what}`)
}
