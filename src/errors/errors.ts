/** Scripts rely on exit codes: only a major version may change them. */
export const exit = {
  done: 0,
  /** A bug, or a local failure such as a full disk. */
  failure: 1,
  usage: 2,
  notFound: 3,
  /** No valid key, or a key without the scope. */
  auth: 4,
  rejected: 5,
  quota: 6,
  /** Safe to retry: nothing was applied, or the request is idempotent. */
  temporary: 7,
  partial: 8,
  declined: 9,
  /** The state changed since the command was planned. */
  changed: 10,
  /** `check` found no consent; it never exits with `changed`. */
  no: 10,
  /** A change may have been applied: its response was lost or unusable. */
  unknown: 11,
  /** SIGINT, or Ctrl-C at a prompt. */
  interrupted: 130,
  /** SIGTERM or SIGHUP. */
  terminated: 143,
} as const

export type Exit = (typeof exit)[keyof typeof exit]

export class CliError extends Error {
  override readonly name = 'CliError'
  readonly code: string
  readonly exit: Exit
  readonly hint: string | undefined

  constructor(
    code: string,
    exitCode: Exit,
    message: string,
    options: { hint?: string | undefined; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? {} : { cause: options.cause })
    this.code = code
    this.exit = exitCode
    this.hint = options.hint
  }
}

/** Invalid flags or arguments (exit 2). */
export function usageError(message: string, hint?: string): CliError {
  return new CliError('usage', exit.usage, message, { hint })
}

/** Invalid configuration file or variable (exit 2). */
export function settingsError(message: string, hint?: string): CliError {
  return new CliError('settings', exit.usage, message, { hint })
}

/** Invalid data, rejected before it is sent (exit 5). */
export function dataError(message: string, hint?: string): CliError {
  return new CliError('invalid_data', exit.rejected, message, { hint })
}

/** `command` resumes the work. */
export class Resumable extends Error {
  override readonly name = 'Resumable'
  readonly command: string

  constructor(cause: unknown, command: string) {
    super('stopped early', { cause })
    this.command = command
  }
}

export class Explained extends Error {
  override readonly name = 'Explained'
  readonly why: string
  readonly hint: string

  constructor(cause: unknown, { why, hint }: { readonly why: string; readonly hint: string }) {
    super(why, { cause })
    this.why = why
    this.hint = hint
  }
}
