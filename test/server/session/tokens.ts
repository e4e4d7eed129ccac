import { createHmac } from 'node:crypto'
import { newId } from '../../../server/ids.ts'
import { sessionSecret, type TestAccount } from '../../support/service.ts'

type Claims = Record<string, unknown>

/** Parts of a session's token that differ from those of a sign-in. */
interface Forgery {
  readonly header?: Claims
  /** Claims in place of the right ones; undefined leaves one out. */
  readonly claims?: Claims
  readonly secret?: Uint8Array
  readonly hash?: string
}

/** Returns the token of a sign-in with the forged parts. */
export function forge({ accountId, userId }: TestAccount, forgery: Forgery = {}): string {
  const { header = {}, claims = {}, secret = sessionSecret, hash = 'sha256' } = forgery
  const now = Math.floor(Date.now() / 1000)
  const right = {
    iss: 'consentctl',
    aud: 'consentctl/session',
    sub: userId,
    account: accountId,
    version: 1,
    iat: now,
    exp: now + 8 * 3600,
  }
  const signed = `${encode({ alg: 'HS256', ...header })}.${encode({ ...right, ...claims })}`
  return `${signed}.${createHmac(hash, secret).update(signed).digest('base64url')}`
}

/** Replaces one of the three parts of a token. */
export function withPart(token: string, index: 0 | 1 | 2, part: string): string {
  return token.split('.').toSpliced(index, 1, part).join('.')
}

/** Every kind of invalid token, by what is wrong with it; `other` is another account. */
export const forgeries: [name: string, make: (a: TestAccount, other: TestAccount) => string][] = [
  ['alg "none" without a signature', a => withPart(forge(a, { header: { alg: 'none' } }), 2, '')],
  ['HS384 with the right secret', a => forge(a, { header: { alg: 'HS384' }, hash: 'sha384' })],
  ['another secret', a => forge(a, { secret: Buffer.alloc(32, 9) })],
  ['another issuer', a => forge(a, { claims: { iss: 'another' } })],
  ['no issuer', a => forge(a, { claims: { iss: undefined } })],
  ['another audience', a => forge(a, { claims: { aud: 'consentctl/reset' } })],
  ['no audience', a => forge(a, { claims: { aud: undefined } })],
  ['an end that has passed', a => forge(a, { claims: { iat: seconds(-7200), exp: seconds(-1) } })],
  ['no end', a => forge(a, { claims: { exp: undefined } })],
  ['an age over eight hours', a => forge(a, { claims: { iat: seconds(-8 * 3600 - 2), exp: seconds(3600) } })],
  ['no beginning', a => forge(a, { claims: { iat: undefined } })],
  ['a beginning in the future', a => forge(a, { claims: { iat: seconds(60) } })],
  ['another account', (a, other) => forge(a, { claims: { account: other.accountId } })],
  ['another user', (a, other) => forge(a, { claims: { sub: other.userId } })],
  ['an unknown user and account', a => forge(a, { claims: { sub: newId(), account: newId() } })],
  ['no user', a => forge(a, { claims: { sub: undefined } })],
  ['no account', a => forge(a, { claims: { account: undefined } })],
  ['an earlier version of the sessions', a => forge(a, { claims: { version: 0 } })],
  ['a later version of the sessions', a => forge(a, { claims: { version: 2 } })],
  ['the version as text', a => forge(a, { claims: { version: '1' } })],
  ['no version', a => forge(a, { claims: { version: undefined } })],
  ['the payload of another’s', (a, other) => withPart(forge(a), 1, forge(other).split('.')[1] ?? '')],
  ['no text', () => ''],
  ['the text of an API key', a => a.key],
  ['twelve thousand characters', a => forge(a, { secret: Buffer.alloc(32, 9), claims: { x: 'y'.repeat(8500) } })],
]

/** Returns the time of a claim, in seconds from now. */
function seconds(fromNow: number): number {
  return Math.floor(Date.now() / 1000) + fromNow
}

function encode(part: unknown): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url')
}
