import canonicalize from 'canonicalize'

/** A value as canonical JSON (RFC 8785), in UTF-8. */
export function jcs(value: object): Buffer {
  return Buffer.from(canonical(value))
}

/** A value as the text of its canonical JSON (RFC 8785). */
export function canonical(value: object): string {
  return canonicalize(value) ?? ''
}

/** Whether two JSON values are the same, whatever the order of their keys. */
export function sameJson(one: unknown, other: unknown): boolean {
  return canonicalize(one) === canonicalize(other)
}
