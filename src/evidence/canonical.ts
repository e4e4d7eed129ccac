import canonicalize from 'canonicalize'

/** A value as canonical JSON (RFC 8785), in UTF-8. */
export function jcs(value: object): Buffer {
  return Buffer.from(canonical(value))
}

/** A value as the text of its canonical JSON (RFC 8785). Throws for what has none: a lone surrogate, NaN. */
export function canonical(value: object): string {
  if (isPlain(value)) return JSON.stringify(inOrder(value))
  return canonicalize(value) ?? ''
}

/** Whether two JSON values are the same, whatever the order of their keys. */
export function sameJson(one: unknown, other: unknown): boolean {
  return canonicalize(one) === canonicalize(other)
}

/**
 * Whether JSON.stringify writes a value canonically, but for the order of its names: the canonical form is made of what it
 * writes. It has an object's names that look like a number before all others, whatever their order.
 */
function isPlain(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed()
  if (typeof value === 'number') return Number.isFinite(value)
  if (typeof value !== 'object' || value === null) return value === null || typeof value === 'boolean'
  if (Array.isArray(value)) return value.every(isPlain)
  for (const name in value) {
    if (!isLetter(name.charCodeAt(0)) || name === 'toJSON' || !name.isWellFormed()) return false
    if (!isPlain((value as Record<string, unknown>)[name])) return false
  }
  return Object.getPrototypeOf(value) === Object.prototype
}

/** Of ASCII. */
function isLetter(code: number): boolean {
  return (code >= 65 && code <= 90) || (code >= 97 && code <= 122)
}

function inOrder(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(inOrder)
  const ordered: Record<string, unknown> = {}
  for (const name of Object.keys(value).sort()) {
    ordered[name] = inOrder((value as Record<string, unknown>)[name])
  }
  return ordered
}
