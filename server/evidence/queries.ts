import type { Sql } from 'postgres'

export interface SigningKey {
  readonly keyId: string
  /** 32 bytes. */
  readonly publicKey: Buffer
  readonly at: Date
}

/** Publishes a key, unless it is already. */
export async function insertSigningKey(sql: Sql, { keyId, publicKey, at }: SigningKey): Promise<void> {
  await sql`
    insert into signing_keys (key_id, public_key, created_at) values (${keyId}, ${publicKey}, ${at})
    on conflict (key_id) do nothing`
}

/** Every key that was ever published: the one with this id first, the others from the newest on. */
export function listSigningKeys(sql: Sql, first: string): Promise<SigningKey[]> {
  return sql<SigningKey[]>`
    select key_id as "keyId", public_key as "publicKey", created_at as "at" from signing_keys
    order by key_id <> ${first}, created_at desc, key_id`
}
