import { usageError } from '../errors/errors.ts'

/**
 * Refuses a key among the arguments, whatever it is given for: everybody on the machine can read them, and the shell
 * keeps them. The key is not told again. Throws a usage error.
 */
export function refuseKeys(argv: readonly string[]): void {
  const index = argv.findIndex(word => /(^|[^\w-])sk-[\w-]{16,}/.test(word))
  if (index === -1) return
  throw usageError(
    `argument ${index + 1} holds an API key, which others can see there: take it as stolen, and revoke it`,
    'consentctl auth login, or set CONSENTCTL_API_KEY or CONSENTCTL_API_KEY_FILE',
  )
}
