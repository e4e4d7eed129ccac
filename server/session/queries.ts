import type { Sql } from 'postgres'
import type { Role } from '../../src/contract/index.ts'

export interface UserKey {
  readonly accountId: string
  readonly userId: string
}

export interface UserRow {
  password_hash: string
  session_version: number
  role: Role
}

/** The e-mail is in lower case. */
export async function findLogin(sql: Sql, email: string): Promise<UserKey | undefined> {
  const [row] = await sql<{ account_id: string; user_id: string }[]>`
    select account_id, user_id from logins where email = ${email}`
  return row && { accountId: row.account_id, userId: row.user_id }
}

export async function findUser(sql: Sql, { accountId, userId }: UserKey): Promise<UserRow | undefined> {
  const [row] = await sql<UserRow[]>`
    select password_hash, session_version, role from users where account_id = ${accountId} and id = ${userId}`
  return row
}

export async function findEmail(sql: Sql, { accountId, userId }: UserKey): Promise<string | undefined> {
  const [row] = await sql<{ email: string }[]>`
    select email from logins where account_id = ${accountId} and user_id = ${userId}`
  return row?.email
}

export async function endSessions(sql: Sql, { accountId, userId }: UserKey): Promise<void> {
  await sql`
    update users set session_version = session_version + 1 where account_id = ${accountId} and id = ${userId}`
}

export async function setPassword(sql: Sql, { accountId, userId }: UserKey, passwordHash: string): Promise<void> {
  await sql`
    update users set password_hash = ${passwordHash}, session_version = session_version + 1
    where account_id = ${accountId} and id = ${userId}`
}
