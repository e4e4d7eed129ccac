import type { KeyObject } from 'node:crypto'
import type { Sql } from 'postgres'
import { keyIdOf, publicKeyOf } from '../../src/evidence/keys.ts'
import { listSigningKeys, type SigningKey } from './queries.ts'

/** Keys by their thumbprints. */
export type Keys = ReadonlyMap<string, KeyObject>

/** The keys that the service publishes; a row that is no key, or one under another one's name, is passed over. */
export async function readKeys(sql: Sql): Promise<Keys> {
  const keys = new Map<string, KeyObject>()
  for (const row of await listSigningKeys(sql)) {
    const key = publishedKey(row)
    if (key) keys.set(row.keyId, key)
  }
  return keys
}

/** The key of a row; null where that has none, or another one than its name says. */
export function publishedKey({ keyId, publicKey }: SigningKey): KeyObject | null {
  if (publicKey?.length !== 32) return null
  const key = publicKeyOf(publicKey)
  return keyIdOf(key) === keyId ? key : null
}
