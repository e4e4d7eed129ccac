import { createHmac, createPublicKey, hkdfSync, type KeyObject } from 'node:crypto'
import { chmod, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Context } from '../context.ts'
import { settingsError } from '../errors/errors.ts'
import { keyIdOf, newSigningKey, privatePem, readSigningKey } from '../evidence/keys.ts'
import { makeFolder, partOf } from '../io/new-file.ts'
import { isOpenToOthers } from '../settings/store.ts'
import { fileNameOf, local, makeFile, noneWhereMissing } from './place.ts'

/** The Ed25519 key that signs a profile's receipts, and makes subjects unreadable in them. */
export interface ReceiptKey {
  /** The private key. */
  readonly key: KeyObject
  /** As documents name it. */
  readonly id: string
  /**
   * What stands for an identifier of a subject: HMAC-SHA-256 in hexadecimal. Its key comes from the private key by HKDF
   * (RFC 5869), so that nobody without that can test a guess.
   */
  hmacOf(subject: string): string
}

/** Where the key of a profile is, or would be. */
export function keyFile({ settings }: Pick<Context, 'settings'>): string {
  return join(settings.folder, 'receipt-keys', `${fileNameOf(settings.profile.value)}.pem`)
}

/** The key of the profile, made where there is none yet. Throws a CliError where it cannot be read or made. */
export async function openReceiptKey(ctx: Context): Promise<ReceiptKey> {
  const present = await findReceiptKey(ctx)
  if (present) return present
  const file = keyFile(ctx)
  await local(`${file} cannot be written`, async () => {
    await makeFolder(join(ctx.settings.folder, 'receipt-keys'))
    // Of two processes at their first use one is the first, and the other takes what that has made.
    await makeFile(file, partOf(file), privatePem(newSigningKey()))
  })
  const made = await findReceiptKey(ctx)
  if (!made) throw settingsError(`${file} is gone again`)
  return made
}

/** The same; null where there is none. */
export async function findReceiptKey(ctx: Context): Promise<ReceiptKey | null> {
  const file = keyFile(ctx)
  const pem = await local(`${file} cannot be read`, () => readFile(file, 'utf8').catch(noneWhereMissing))
  if (pem === null) return null
  await keepToOneself(ctx, file)
  try {
    return toReceiptKey(readSigningKey(pem))
  } catch {
    throw settingsError(
      `${file} holds no Ed25519 private key`,
      'put it back from a backup; without it, move it away, and receipts to come are signed by a new one',
    )
  }
}

/** The keys that the profile signs with: none where it has signed nothing. */
export async function ownKeys(ctx: Context): Promise<readonly KeyObject[]> {
  const own = await findReceiptKey(ctx)
  return own ? [createPublicKey(own.key)] : []
}

async function keepToOneself(ctx: Context, file: string): Promise<void> {
  if (!isOpenToOthers((await stat(file)).mode)) return
  await chmod(file, 0o600).catch(() => {})
  await ctx.warn(`warning: ${file} was open to others, who may have taken it; it is now for you alone`)
}

/** Says what the bytes of the derived key are for, so that no other use of the private key gives the same. */
const purpose = 'consentctl erasure receipt: subject identifiers'

function toReceiptKey(key: KeyObject): ReceiptKey {
  const secret = Buffer.from(String(key.export({ format: 'jwk' }).d), 'base64url')
  const derived = Buffer.from(hkdfSync('sha256', secret, Buffer.alloc(0), purpose, 32))
  return {
    key,
    id: keyIdOf(key),
    hmacOf: subject => createHmac('sha256', derived).update(subject).digest('hex'),
  }
}
