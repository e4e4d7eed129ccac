/**
 * Returns the URL without its user and password, which clients reject, and the header with them.
 * @throws URIError for a % that is not part of an escape
 */
export function splitCredentials(url: string): { target: string; authorization: string | null } {
  const target = new URL(url)
  const credentials = [target.username, target.password].map(decodeURIComponent).join(':')
  target.username = ''
  target.password = ''
  const authorization = credentials === ':' ? null : `Basic ${Buffer.from(credentials).toString('base64')}`
  return { target: target.href, authorization }
}

/** False for a % that is not part of an escape. */
export function hasReadableCredentials(url: string): boolean {
  const { username, password } = new URL(url)
  try {
    return decodeURIComponent(`${username}:${password}`) !== ''
  } catch {
    return false
  }
}
