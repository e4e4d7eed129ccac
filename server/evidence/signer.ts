import { createPublicKey, type KeyObject } from 'node:crypto'
import type { Sql } from 'postgres'
import { OperatorError } from '../../src/contract/index.ts'
import { keyIdOf, publicBytes, publicKeyOf, signingKeyOf } from '../../src/evidence/keys.ts'
import { type SignedFields, signDocument } from '../../src/evidence/signed.ts'
import { sharedSecret } from '../db/secrets.ts'
import { insertSigningKey, isKeyElsewhere, listSigningKeys, type SigningKey } from './queries.ts'

/** Signs the service's documents, with the same key on every node. */
export interface Signer {
  /** RFC 7638 thumbprint. */
  readonly keyId: string
  readonly publicKey: KeyObject
  sign(document: Omit<SignedFields, 'key_id'> & object): string
}

/**
 * Opens the operator's own key, else the one that the database keeps, and publishes it. @throws OperatorError if keys are
 * published and the database keeps none: a lost key is not replaced
 */
export async function openSigner(sql: Sql, ownKey: KeyObject | null): Promise<Signer> {
  if (!ownKey && (await isKeyElsewhere(sql))) {
    throw new OperatorError('this service signs with a key that is not in the database', {
      code: 'settings',
      hint: 'name its file in SIGNING_KEY_FILE, as on every other node',
    })
  }
  const key = ownKey ?? signingKeyOf(await sharedSecret(sql, 'signing'))
  const signer = signerOf(key)
  await insertSigningKey(sql, { keyId: signer.keyId, publicKey: publicBytes(key), at: new Date() })
  return signer
}

export function signerOf(key: KeyObject): Signer {
  const keyId = keyIdOf(key)
  return {
    keyId,
    publicKey: createPublicKey(key),
    sign: document => signDocument({ ...document, key_id: keyId }, key),
  }
}

/** Public keys by their thumbprints. */
export type Keys = ReadonlyMap<string, KeyObject>

interface Published {
  readonly keys: Keys
  /** Ids of rows with no key, or with another one. */
  readonly unreadable: readonly string[]
}

export async function readKeys(sql: Sql): Promise<Published> {
  const keys = new Map<string, KeyObject>()
  const unreadable: string[] = []
  for (const row of await listSigningKeys(sql)) {
    const key = publishedKey(row)
    if (key) keys.set(row.keyId, key)
    else unreadable.push(row.keyId)
  }
  return { keys, unreadable }
}

/** Returns null if the row's key is missing or does not fit its id. */
export function publishedKey({ keyId, publicKey }: SigningKey): KeyObject | null {
  if (publicKey?.length !== 32) return null
  const key = publicKeyOf(publicKey)
  return keyIdOf(key) === keyId ? key : null
}
