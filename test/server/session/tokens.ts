import { createHmac } from 'node:crypto'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { newId } from '../../../server/ids.ts'
import { sessionSecret, type TestAccount } from '../../support/service.ts'

type Claims = Record<string, unknown>

/** A session's token made by hand, so that every part of it can be another. */
export interface Forgery {
  readonly header?: Claims
  /** Claims in place of the right ones; undefined leaves one out. */
  readonly claims?: Claims
  readonly secret?: Uint8Array
  readonly hash?: string
}

/** The token that a sign-in gives, but for what is forged. */
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

/** A token with one of its three parts in place of its own. */
export function withPart(token: string, index: 0 | 1 | 2, part: string): string {
  return token.split('.').toSpliced(index, 1, part).join('.')
}

/** Every token that is none, by what is wrong with it; `other` is another account. */
export const forgeries: [name: string, make: (a: TestAccount, other: TestAccount) => string | Promise<string>][] = [
  ...['none', 'None', 'NONE', 'nOnE', ''].flatMap((alg): typeof forgeries => [
    [`alg "${alg}" without a signature`, a => withPart(forge(a, { header: { alg } }), 2, '')],
    [`alg "${alg}" with one`, a => forge(a, { header: { alg } })],
  ]),
  ['no alg', a => forge(a, { header: { alg: undefined } })],
  ['HS384 with the right secret', a => forge(a, { header: { alg: 'HS384' }, hash: 'sha384' })],
  ['HS512 with the right secret', a => forge(a, { header: { alg: 'HS512' }, hash: 'sha512' })],
  ['RS256 in the header of an HMAC', a => forge(a, { header: { alg: 'RS256' } })],
  ['RS256 with a key of its own in the header', signedWithRsa],
  ['another secret', a => forge(a, { secret: Buffer.alloc(32, 9) })],
  ['an empty secret', a => forge(a, { secret: Buffer.alloc(0) })],
  ['another secret, brought along as jwk', a => forge(a, { secret: Buffer.alloc(32, 9), header: { jwk: octets } })],
  ['another secret, to be fetched by jku', a => forge(a, { secret: Buffer.alloc(32, 9), header: elsewhere })],
  ['an empty secret, named by kid', a => forge(a, { secret: Buffer.alloc(0), header: { kid: '../../dev/null' } })],
  ['an extension that must be understood', a => forge(a, { header: { crit: ['x'], x: 1 } })],
  ['another issuer', a => forge(a, { claims: { iss: 'another' } })],
  ['no issuer', a => forge(a, { claims: { iss: undefined } })],
  ['another audience', a => forge(a, { claims: { aud: 'consentctl/reset' } })],
  ['no audience', a => forge(a, { claims: { aud: undefined } })],
  ['an end that has passed', a => forge(a, { claims: { iat: seconds(-7200), exp: seconds(-1) } })],
  ['no end', a => forge(a, { claims: { exp: undefined } })],
  ['an expiry that is not a number', a => forge(a, { claims: { exp: '9999999999' } })],
  ['an age over eight hours', a => forge(a, { claims: { iat: seconds(-8 * 3600 - 2), exp: seconds(3600) } })],
  ['no beginning', a => forge(a, { claims: { iat: undefined } })],
  ['a beginning in the future', a => forge(a, { claims: { iat: seconds(60) } })],
  ['a time before which it is not valid', a => forge(a, { claims: { nbf: seconds(60) } })],
  ['another account', (a, other) => forge(a, { claims: { account: other.accountId } })],
  ['another user', (a, other) => forge(a, { claims: { sub: other.userId } })],
  ['a user and an account that nobody has', a => forge(a, { claims: { sub: newId(), account: newId() } })],
  ['no user', a => forge(a, { claims: { sub: undefined } })],
  ['no account', a => forge(a, { claims: { account: undefined } })],
  ['a version of sessions before the present one', a => forge(a, { claims: { version: 0 } })],
  ['a version after it', a => forge(a, { claims: { version: 2 } })],
  ['the version as text', a => forge(a, { claims: { version: '1' } })],
  ['no version', a => forge(a, { claims: { version: undefined } })],
  ['the payload of another’s', (a, other) => withPart(forge(a), 1, forge(other).split('.')[1] ?? '')],
  ['a later end under the old signature', a => withPart(forge(a), 1, payloadWith(a, { exp: seconds(9 * 3600) }))],
  ['a header with more under the old signature', a => withPart(forge(a), 0, encode({ alg: 'HS256', x: 1 }))],
  ['a signature of another’s', (a, other) => withPart(forge(a), 2, forge(other).split('.')[2] ?? '')],
  ['half a signature', a => forge(a).slice(0, -20)],
  ['no signature', a => forge(a).split('.').slice(0, 2).join('.')],
  ['five parts, as of an encrypted one', a => `${forge(a)}.a.b`],
  ['a payload that is not JSON', a => signText(a, 'nonsense')],
  ['a payload that is a list', a => signText(a, '[]')],
  ['nothing', () => ''],
  ['nothing but dots', () => '..'],
  ['an API key', a => a.key],
  ['a site token', a => a.siteToken],
  ['twelve thousand characters', a => forge(a, { secret: Buffer.alloc(32, 9), claims: { x: 'y'.repeat(8500) } })],
  ['twelve thousand dots', () => '.'.repeat(12_000)],
]

const octets = { kty: 'oct', k: Buffer.alloc(32, 9).toString('base64url'), alg: 'HS256' }
const elsewhere = { jku: 'https://evil.example/keys', x5u: 'https://evil.example/chain', kid: 'evil' }

async function signedWithRsa({ accountId, userId }: TestAccount): Promise<string> {
  const { publicKey, privateKey } = await generateKeyPair('RS256', { extractable: true })
  return new SignJWT({ account: accountId, version: 1 })
    .setProtectedHeader({ alg: 'RS256', jwk: await exportJWK(publicKey) })
    .setIssuer('consentctl')
    .setAudience('consentctl/session')
    .setSubject(userId)
    .setIssuedAt()
    .setExpirationTime('8h')
    .sign(privateKey)
}

function payloadWith(account: TestAccount, claims: Claims): string {
  return forge(account, { claims }).split('.')[1] ?? ''
}

/** A right signature over a payload that is no set of claims. */
function signText(account: TestAccount, text: string): string {
  const [header = ''] = forge(account).split('.')
  const signed = `${header}.${Buffer.from(text).toString('base64url')}`
  return `${signed}.${createHmac('sha256', sessionSecret).update(signed).digest('base64url')}`
}

/** Returns the time of a claim, in seconds from now. */
function seconds(fromNow: number): number {
  return Math.floor(Date.now() / 1000) + fromNow
}

function encode(part: unknown): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url')
}
