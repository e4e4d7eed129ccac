/** A UUID of any version (RFC 9562 section 4). */
export const uuidPattern = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i

export function isUuid(text: string): boolean {
  return uuidPattern.test(text)
}
