import canonicalize from 'canonicalize'

/** JCS (RFC 8785) in UTF-8. */
export function jcs(value: object): Buffer {
  return Buffer.from(canonical(value))
}

/** JCS (RFC 8785). @throws for lone surrogates and NaN */
export function canonical(value: unknown): string {
  if (isPlain(value)) return JSON.stringify(sortNames(value))
  return canonicalize(value) ?? ''
}

/** The order of names does not matter. */
export function sameJson(one: unknown, other: unknown): boolean {
  return canonical(one) === canonical(other)
}

/** True if `JSON.stringify` with sorted names is canonical. Objects enumerate names that look like numbers first. */
function isPlain(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed()
  if (typeof value === 'number') return Number.isFinite(value)
  if (typeof value !== 'object' || value === null) return value === null || typeof value === 'boolean'
  if (Array.isArray(value)) return value.every(isPlain)
  for (const name in value) {
    if (!isAsciiLetter(name.charCodeAt(0)) || name === 'toJSON' || !name.isWellFormed()) return false
    if (!isPlain((value as Record<string, unknown>)[name])) return false
  }
  return Object.getPrototypeOf(value) === Object.prototype
}

function isAsciiLetter(code: number): boolean {
  return (code >= 65 && code <= 90) || (code >= 97 && code <= 122)
}

function isSorted(names: readonly string[]): boolean {
  return names.every((name, index) => index === 0 || (names[index - 1] as string) < name)
}

function sortNames(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(sortNames)
  const ordered: Record<string, unknown> = {}
  const names = Object.keys(value)
  for (const name of isSorted(names) ? names : names.sort()) {
    ordered[name] = sortNames((value as Record<string, unknown>)[name])
  }
  return ordered
}
