import { randomBytes } from 'node:crypto'
import type { Sql } from 'postgres'

/**
 * Returns 32 random bytes that all nodes share. Writes only if missing: on Citus no server takes a write while one is
 * down.
 */
export async function sharedSecret(sql: Sql, name: string): Promise<Buffer> {
  const known = await findSecret(sql, name)
  if (known) return known
  await sql`insert into secrets (name, value) values (${name}, ${randomBytes(32)}) on conflict (name) do nothing`
  const value = await findSecret(sql, name)
  if (!value) throw new Error(`the secret ${name} is missing`)
  return value
}

export async function findSecret(sql: Sql, name: string): Promise<Buffer | undefined> {
  const [row] = await sql<{ value: Buffer }[]>`select value from secrets where name = ${name}`
  return row?.value
}
