import type { Sql } from 'postgres'

export interface SigningKey {
  readonly keyId: string
  /** 32 bytes, unless somebody has changed them. */
  readonly publicKey: Buffer | null
  readonly at: Date
}

/** Publishes a key, unless it is already. */
export async function insertSigningKey(sql: Sql, { keyId, publicKey, at }: SigningKey): Promise<void> {
  await sql`
    insert into signing_keys (key_id, public_key, created_at) values (${keyId}, ${publicKey}, ${at})
    on conflict (key_id) do nothing`
}

/** Every key that was ever published, from the newest on; before them the one with the id that is named. */
export function listSigningKeys(sql: Sql, first = ''): Promise<SigningKey[]> {
  return sql<SigningKey[]>`
    select key_id as "keyId", public_key as "publicKey", created_at as "at" from signing_keys
    order by key_id <> ${first}, created_at desc, key_id`
}

/** Whether keys are published, and none of them is one that the database keeps. */
export async function isKeyElsewhere(sql: Sql): Promise<boolean> {
  const [row] = await sql<{ found: boolean }[]>`
    select exists (select from signing_keys) and not exists (select from secrets where name = 'signing') as found`
  return row?.found === true
}
