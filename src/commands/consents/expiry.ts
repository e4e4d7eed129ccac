import { flagOf } from '../../cli/action.ts'
import { ConsentQuery } from '../../contract/consents.ts'
import { usageError } from '../../errors/errors.ts'

interface Options {
  readonly expiring?: string | undefined
  readonly expired?: true | undefined
}

/** The service rejects other filters when ordering by expiry. */
const compatible: readonly string[] = ['site', 'cursor', 'limit', 'all', 'maxRequests', 'concurrency']

/** @throws CliError (usage) */
export function readExpiry({ expiring, expired, ...options }: Options): string {
  const flag = expired ? '--expired' : '--expiring'
  const other = Object.entries(options).find(([name, value]) => value !== undefined && !compatible.includes(name))
  if (other) throw usageError(`${flag} cannot be combined with --${flagOf(other[0])}`)
  if (expiring === undefined) return 'expired'
  if (expired) throw usageError('--expiring and --expired cannot be combined')
  const duration = /^\d{1,5}[dw]$/.test(expiring) ? `P${expiring.toUpperCase()}` : expiring
  if (duration !== 'expired' && ConsentQuery.shape.expiry.safeParse(duration).success) return duration
  throw usageError(`invalid time "${expiring}": use 30d, 4w, or an ISO 8601 duration such as P1M`)
}
