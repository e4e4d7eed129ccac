import { createHmac, sign } from 'node:crypto'
import { publicBytes, signingKeyOf } from './keys.ts'

/** `secret`: 32 bytes, the key of an HMAC (`v1`) or the seed of an Ed25519 key (`v1a`). */
export interface WebhookKey {
  readonly signature: 'v1' | 'v1a'
  readonly secret: Uint8Array
}

export interface Message {
  /** The same when it is sent again. */
  readonly id: string
  readonly at: Date
  readonly body: string
}

/** Headers by Standard Webhooks 1.0, with a signature of each key. */
export function signedHeaders(keys: readonly WebhookKey[], { id, at, body }: Message): Record<string, string> {
  const timestamp = String(Math.floor(at.getTime() / 1000))
  const signed = Buffer.from(`${id}.${timestamp}.${body}`)
  return {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': keys.map(key => `${key.signature},${signatureOf(key, signed)}`).join(' '),
  }
}

function signatureOf({ signature, secret }: WebhookKey, signed: Buffer): string {
  if (signature === 'v1') return createHmac('sha256', secret).update(signed).digest('base64')
  return sign(null, signed, signingKeyOf(Buffer.from(secret))).toString('base64')
}

export function secretText(secret: Uint8Array): string {
  return `whsec_${Buffer.from(secret).toString('base64')}`
}

export function publicKeyText(seed: Uint8Array): string {
  return `whpk_${publicBytes(signingKeyOf(Buffer.from(seed))).toString('base64')}`
}

/** Of 24 to 64 bytes, as Standard Webhooks has it. Null for other text. */
export function readSecretText(text: string): Buffer | null {
  const [, base64 = ''] = /^whsec_([\w+/]+={0,2})$/.exec(text) ?? []
  const secret = Buffer.from(base64, 'base64')
  return secret.length >= 24 && secret.length <= 64 ? secret : null
}
