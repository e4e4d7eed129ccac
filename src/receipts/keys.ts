import { createHmac, createPublicKey, hkdfSync, type KeyObject } from 'node:crypto'
import { chmod, readFile, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { settingsError } from '../errors/errors.ts'
import { keyIdOf, newSigningKey, privatePem, readSigningKey } from '../evidence/keys.ts'
import { makeFolder, partOf } from '../io/new-file.ts'
import { isOpenToOthers } from '../settings/store.ts'
import { createFile, explainIo, nullIfMissing, type ReceiptStore } from './store.ts'

export interface ReceiptKey {
  readonly key: KeyObject
  /** RFC 7638 thumbprint. */
  readonly id: string
  /**
   * HMAC-SHA-256 in hexadecimal, with a key derived by HKDF (RFC 5869): only the private key's owner can test a
   * guess.
   */
  hmacOf(subject: string): string
}

/** @throws CliError if it cannot be read or created */
export async function openReceiptKey(store: ReceiptStore): Promise<ReceiptKey> {
  const present = await findReceiptKey(store)
  if (present) return present
  const { keyFile } = store
  await explainIo(`${keyFile} cannot be written`, async () => {
    await makeFolder(dirname(keyFile))
    // Of two processes, both read the winner's key.
    await createFile(keyFile, partOf(keyFile), privatePem(newSigningKey()))
  })
  const made = await findReceiptKey(store)
  if (!made) throw settingsError(`${keyFile} was removed`)
  return made
}

export async function findReceiptKey(store: ReceiptStore): Promise<ReceiptKey | null> {
  const { keyFile } = store
  const pem = await explainIo(`${keyFile} cannot be read`, () => readFile(keyFile, 'utf8').catch(nullIfMissing))
  if (pem === null) return null
  await makePrivate(store)
  try {
    return toReceiptKey(readSigningKey(pem))
  } catch {
    throw settingsError(
      `${keyFile} does not contain an Ed25519 private key`,
      'restore it from a backup, or move it away: later receipts are then signed with a new key',
    )
  }
}

/** None before the first signature. */
export async function ownKeys(store: ReceiptStore): Promise<readonly KeyObject[]> {
  const own = await findReceiptKey(store)
  return own ? [createPublicKey(own.key)] : []
}

async function makePrivate({ keyFile, warn }: ReceiptStore): Promise<void> {
  if (!isOpenToOthers((await stat(keyFile)).mode)) return
  await chmod(keyFile, 0o600).catch(() => {})
  await warn(`warning: ${keyFile} was open to others, who may have copied it; now only you can read it`)
}

/** Separates uses of the private key. */
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
