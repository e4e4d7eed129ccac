import type { KeyObject } from 'node:crypto'
import type { Sql } from 'postgres'
import { keyIdOf, publicKeyOf } from '../../src/evidence/keys.ts'
import { listSigningKeys, type SigningKey } from './queries.ts'

/** Keys by their thumbprints. */
export type Keys = ReadonlyMap<string, KeyObject>

export interface Published {
  readonly keys: Keys
  /** The names of rows that are no key, or another one. */
  readonly unreadable: readonly string[]
}

/** The keys that the service publishes. */
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

/** The key of a row; null where that has none, or another one than its name says. */
export function publishedKey({ keyId, publicKey }: SigningKey): KeyObject | null {
  if (publicKey?.length !== 32) return null
  const key = publicKeyOf(publicKey)
  return keyIdOf(key) === keyId ? key : null
}
