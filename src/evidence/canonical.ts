import canonicalize from 'canonicalize'

/** A value as canonical JSON (RFC 8785), in UTF-8. */
export function jcs(value: object): Buffer {
  return Buffer.from(canonicalize(value) ?? '')
}

/** Whether two JSON values are the same, whatever the order of their keys. */
export function sameJson(one: unknown, other: unknown): boolean {
  return canonicalize(one) === canonicalize(other)
}
