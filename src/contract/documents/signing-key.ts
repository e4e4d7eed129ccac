import * as z from 'zod'
import { Instant, KeyId, PublicKey, Sha256, Signature } from './fields.ts'

const OfKey = KeyId.describe('The key that it is about, by its thumbprint (RFC 7638).')

/**
 * Introduces a key of the service. The previous key signs it, and `proof` is the new key's signature. If the previous
 * key was lost, the new key signs alone: trust then extends from it to earlier ones, not the other way. It names the
 * statement before it by its digest: the holder of a compromised key could make another one, with a key of their own
 * before it.
 */
export const SigningKeyStatement = z.strictObject({
  type: z.literal('signing_key'),
  version: z.literal(1),
  kid: OfKey,
  x: PublicKey,
  not_before: Instant.describe('What it signs is of this time or later.'),
  previous: KeyId.nullable().describe('The key before it; null for the first.'),
  previous_sha256: Sha256.nullable().describe('Of the text of the statement about that key; null for the first.'),
  key_id: KeyId.describe(
    'The key that it is signed with, by its thumbprint (RFC 7638): the previous one, or the new one itself if it is the first or the previous one was lost.',
  ),
  proof: Signature.describe(
    'Ed25519 by the new key, in base64, over the canonical JSON (RFC 8785) of the other fields.',
  ),
})
export type SigningKeyStatement = z.output<typeof SigningKeyStatement>

export const KeyRevocation = z.strictObject({
  type: z.literal('key_revocation'),
  version: z.literal(1),
  kid: OfKey,
  revoked_at: Instant,
  reason: z
    .enum(['superseded', 'compromised'])
    .describe('superseded: what it signed until then stays valid. compromised: nothing that it signed is valid.'),
  key_id: KeyId,
})
export type KeyRevocation = z.output<typeof KeyRevocation>
