import { createHmac } from 'node:crypto'

export interface SubjectSecret {
  readonly subjectSecret: Uint8Array
}

/** Returns an HMAC: only the service, with its responses to erasures, can test a guess. */
export function hashSubject({ subjectSecret }: SubjectSecret, accountId: string, subjectId: string): Buffer {
  const accountKey = createHmac('sha256', subjectSecret).update(accountId).digest()
  return createHmac('sha256', accountKey).update(subjectId).digest()
}

/** In hexadecimal, as certificates and the register have it. */
export function standInOf(
  secret: SubjectSecret,
  { accountId }: { readonly accountId: string },
  subjectId: string,
): string {
  return hashSubject(secret, accountId, subjectId).toString('hex')
}
