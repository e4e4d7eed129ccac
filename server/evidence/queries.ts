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
