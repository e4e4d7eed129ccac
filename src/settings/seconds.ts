import { usageError } from '../errors/errors.ts'

/** A flag's or a variable's text as seconds, up to a day. Throws a usage error. */
export function parseSeconds(text: string, source: string, least: number): number {
  const seconds = /^\d{1,5}(\.\d{1,3})?$/.test(text) ? Number(text) : Number.NaN
  if (seconds >= least && seconds <= 86_400) return seconds
  throw usageError(`${source} must be a number of seconds from ${least} to 86400`)
}
