import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { jcs } from './canonical.ts'

/** PKCS #8 prefix of a 32-byte Ed25519 private key (RFC 8410 section 7). */
const pkcs8 = Buffer.from('302e020100300506032b657004220420', 'hex')

export function newSigningKey(): KeyObject {
  return generateKeyPairSync('ed25519').privateKey
}

/** Derives the key from a 32-byte seed (RFC 8032 section 5.1.5). */
export function signingKeyOf(seed: Buffer): KeyObject {
  return createPrivateKey({ key: Buffer.concat([pkcs8, seed]), format: 'der', type: 'pkcs8' })
}

/** @throws Error unless an Ed25519 private key */
export function readSigningKey(pem: string): KeyObject {
  return requireEd25519(createPrivateKey(pem))
}

/** @throws Error unless an Ed25519 public key */
export function readPublicKey(pem: string): KeyObject {
  return requireEd25519(createPublicKey(pem))
}

export function publicKeyOf(bytes: Buffer): KeyObject {
  return createPublicKey({
    key: { kty: 'OKP', crv: 'Ed25519', x: bytes.toString('base64url') },
    format: 'jwk',
  })
}

/** Returns 32 bytes, also for a private key. */
export function publicBytes(key: KeyObject): Buffer {
  const { x } = publicOf(key).export({ format: 'jwk' })
  return Buffer.from(String(x), 'base64url')
}

/** SubjectPublicKeyInfo (RFC 8410 section 4). */
export function publicPem(key: KeyObject): string {
  return publicOf(key).export({ format: 'pem', type: 'spki' }).toString()
}

export function privatePem(key: KeyObject): string {
  return key.export({ format: 'pem', type: 'pkcs8' }).toString()
}

/** JWK thumbprint (RFC 7638, RFC 8037 appendix A.3) in base64url. */
export function keyIdOf(key: KeyObject): string {
  const jwk = { crv: 'Ed25519', kty: 'OKP', x: publicBytes(key).toString('base64url') }
  return createHash('sha256').update(jcs(jwk)).digest('base64url')
}

function publicOf(key: KeyObject): KeyObject {
  return key.type === 'private' ? createPublicKey(key) : key
}

function requireEd25519(key: KeyObject): KeyObject {
  if (key.asymmetricKeyType !== 'ed25519') throw new Error('not an Ed25519 key')
  return key
}
