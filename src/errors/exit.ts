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
