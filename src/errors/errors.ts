/** The exit codes of the command line: a contract with scripts, changed only with a major version. */
export const exit = {
  done: 0,
  /** A bug, or a local failure such as a full disk. */
  failure: 1,
  usage: 2,
  notFound: 3,
  /** No key, a bad or revoked one, or one that may not do this. */
  auth: 4,
  rejected: 5,
  quota: 6,
  /** Safe to try again: nothing was applied, or applying it twice is the same. */
  temporary: 7,
  partial: 8,
  declined: 9,
  /** The state is not what it was when the command was planned. */
  changed: 10,
  /** The answer to a call that must not be repeated blindly was lost. */
  unknown: 11,
  /** Ctrl-C at a prompt; elsewhere the system gives this for SIGINT. */
  interrupted: 130,
  /** The same of SIGTERM, and of SIGHUP. */
  terminated: 143,
} as const

export type Exit = (typeof exit)[keyof typeof exit]

/** A failure that the command line itself finds: what is wrong, why, what to try, and the exit code it ends with. */
export class CliError extends Error {
  override readonly name = 'CliError'
  /** For programs, as `error.code` of the machine-readable form. */
  readonly code: string
  readonly exit: Exit
  readonly hint: string | undefined

  constructor(
    code: string,
    exitCode: Exit,
    message: string,
    options: { hint?: string; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? {} : { cause: options.cause })
    this.code = code
    this.exit = exitCode
    this.hint = options.hint
  }
}

/** Flags or arguments that make no sense (exit 2). */
export function usageError(message: string, hint?: string): CliError {
  return new CliError('usage', exit.usage, message, hint === undefined ? {} : { hint })
}

/** A configuration file or variable that cannot be used (exit 2). */
export function settingsError(message: string, hint?: string): CliError {
  return new CliError('settings', exit.usage, message, hint === undefined ? {} : { hint })
}

/** Data that the command line refuses before it sends it (exit 5). */
export function dataError(message: string, hint?: string): CliError {
  return new CliError('invalid_data', exit.rejected, message, hint === undefined ? {} : { hint })
}

/** An error, with the command that goes on where it stopped. */
export class Resumable extends Error {
  override readonly name = 'Resumable'
  readonly command: string

  constructor(cause: unknown, command: string) {
    super('stopped early', { cause })
    this.command = command
  }
}
