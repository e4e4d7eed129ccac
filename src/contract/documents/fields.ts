import * as z from 'zod'

export const DeletionStatement = z
  .string()
  .regex(
    /^logically deleted; (personal data to be purged after \d+ days?|personal data is kept until it is purged by hand|whether and when personal data is purged is not known)(, but for sealed proofs)?$/,
  )

export const PurgeReceiptStatement = z
  .string()
  .regex(
    /^personal data of \d+ records? purged by \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z(, but for \d+ sealed proofs? until \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z, or longer while a legal hold stands)?, certified by the service; what is left is pseudonymous; backups, write-ahead logs and free space of the database are not covered$/,
  )

/** UTC with milliseconds. */
export const Instant = z.iso.datetime({ precision: 3 })

export const Sha256 = z.string().regex(/^[\da-f]{64}$/)

export const KeyId = z
  .string()
  .regex(/^[\w-]{43}$/)
  .describe('The key that it is signed with, by its thumbprint (RFC 7638).')

export const PublicKey = z
  .string()
  .regex(/^[\w-]{43}$/)
  .describe('The 32 bytes of the key, in base64url.')

export const Signature = z.string().regex(/^[A-Za-z\d+/]{85}[AQgw]==$/)

export function signed<Shape extends z.core.$ZodLooseShape>(document: z.ZodObject<Shape>) {
  return document.extend({
    signature: Signature.describe('Ed25519 (RFC 8032), in base64, over all bytes before the line that it is in.'),
  })
}
