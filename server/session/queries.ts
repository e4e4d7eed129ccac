import type { Sql } from 'postgres'
import type { Role } from '../../src/contract/index.ts'
import { type Administrator, afterAccount, auditEntry, lockedAccount, target } from '../audit/entries.ts'
import { passwordState } from '../audit/states.ts'

export interface UserKey {
  readonly accountId: string
  readonly userId: string
}

export interface UserRow {
  password_hash: string
  session_version: number
  role: Role
}

/** `email` must be in lower case. */
export async function findLogin(sql: Sql, email: string): Promise<UserKey | undefined> {
  const [row] = await sql<UserKey[]>`
    select account_id as "accountId", user_id as "userId" from logins where email = ${email}`
  return row
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

/** Ends the user's sessions too. Returns false for an unknown user. */
export async function setPassword(
  sql: Sql,
  { accountId, userId }: UserKey,
  { passwordHash, at }: { readonly passwordHash: string; readonly at: Date },
  actor: Administrator,
): Promise<boolean> {
  const changed = await sql`
    with ${lockedAccount(sql, accountId)}, present as materialized (
      select * from users
      where account_id = ${accountId} and id = ${userId} and ${afterAccount(sql)} for no key update
    ), changed as (
      update users u set password_hash = ${passwordHash}, session_version = u.session_version + 1
      from present p where u.account_id = ${accountId} and u.id = ${userId} and p.id = u.id
      returning u.*
    ), change as (
      select ${target(sql, 'user', sql`u.id`)} as target,
        (select jsonb_build_object(${passwordState(sql)}) from present u) as before,
        jsonb_build_object(${passwordState(sql)}) as after
      from changed u
    ), ${auditEntry(sql, { accountId, actor, action: 'password_changed', at })}
    select id from changed`
  return changed.length === 1
}
