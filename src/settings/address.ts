import { usageError } from '../errors/errors.ts'

/** The scheme, host and port of an address, by which keys are kept apart; null where it is none. */
export function originOf(address: string): string | null {
  return URL.canParse(address) ? new URL(address).origin : null
}

/** Checks an address and takes the slash from its end. Throws a usage error. */
export function normalizeUrl(value: string, source: string): string {
  const url = URL.canParse(value) ? new URL(value) : null
  if (!url || !/^https?:$/.test(url.protocol)) {
    const shown = value.includes('@') ? 'that' : `"${value}"` // there may be a password in it
    throw usageError(`${source}: ${shown} is no address`, 'write it like https://consent.example.com')
  }
  if (url.username || url.password) throw usageError(`${source}: an address must not hold credentials`)
  if (url.search || url.hash) throw usageError(`${source}: an address has no query and no fragment`)
  return url.origin + url.pathname.replace(/\/+$/, '')
}
