import { CliError, exit } from '../../errors/errors.ts'

/** What is told where the quota is used up, and the service cannot or may not erase the rest itself. */
export function quotaError(cause: unknown): CliError {
  return new CliError('quota_exceeded', exit.quota, 'the month’s quota is used up', {
    hint: 'wait for the next calendar month (UTC), or raise the account’s quota, and go on then',
    cause,
  })
}
