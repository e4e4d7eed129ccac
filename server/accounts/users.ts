import type { Sql } from 'postgres'
import {
  type NewUser,
  OperatorError,
  type RemovedUser,
  type UserDraft,
  type UserInfo,
} from '../../src/contract/index.ts'
import { machine } from '../audit/entries.ts'
import { hashPassword, newPassword } from '../auth/password.ts'
import { toJson } from '../db/rows.ts'
import { newId } from '../ids.ts'
import { listKeysOf, revokeKey } from '../keys/queries.ts'
import { findLogin } from '../session/queries.ts'
import { deleteUser, insertUser, selectUsers, type UserRow } from './queries.ts'
import { findAccount, noAccount, requireEmail, requireLength } from './service.ts'

/** @throws OperatorError for an unknown account, or an e-mail that is invalid or in use */
export async function addUser(sql: Sql, draft: UserDraft): Promise<NewUser> {
  const { role, password = newPassword() } = draft
  requireEmail(draft.email)
  requireLength(password)
  const account_id = draft.account === undefined ? await findOnlyAccount(sql) : await requireAccount(sql, draft.account)
  const row: UserRow = {
    account_id,
    id: newId(),
    email: draft.email.toLowerCase(),
    role,
    keys: 0,
    created_at: new Date(),
  }
  if (!(await insertUser(sql, { ...row, passwordHash: await hashPassword(password) })))
    throw new OperatorError(`a user with the e-mail ${row.email} already exists`, { code: 'conflict' })
  return { ...toJson<UserInfo>(row), password: draft.password === undefined ? password : null }
}

/**
 * Oldest first.
 * @throws OperatorError for an unknown account
 */
export async function listUsers(sql: Sql, account?: string): Promise<UserInfo[]> {
  return (await selectUsers(sql, account === undefined ? null : await requireAccount(sql, account))).map(row =>
    toJson<UserInfo>(row),
  )
}

/**
 * Ends the user's sessions and, unless `keepKeys`, the user's API keys.
 * @throws OperatorError for an unknown user or the last owner
 */
export async function removeUser(
  sql: Sql,
  { email, keepKeys = false }: { readonly email: string; readonly keepKeys?: boolean | undefined },
): Promise<RemovedUser> {
  const user = await findLogin(sql, email.toLowerCase())
  const row = user && (await selectUsers(sql, user.accountId)).find(({ id }) => id === user.userId)
  if (!user || !row) throw new OperatorError(`no user has the e-mail ${email}`, { code: 'not_found' })
  const at = new Date()
  const removed = await sql.begin(async tx => {
    const own = tx as unknown as Sql
    if (!(await deleteUser(own, user, at))) return null
    const keys = await listKeysOf(own, { ...user, at })
    if (!keepKeys) for (const { id } of keys) await revokeKey(own, { accountId: user.accountId, id, at }, machine)
    return keys
  })
  if (removed)
    return { ...toJson<UserInfo>(row), ended_keys: keepKeys ? [] : removed, kept_keys: keepKeys ? removed : [] }
  throw new OperatorError(`${row.email} is the last owner of the account ${row.account_id}`, {
    code: 'conflict',
    hint: 'add another owner first: consentctl admin user add --role owner',
  })
}

async function requireAccount(sql: Sql, account: string): Promise<string> {
  const id = await findAccount(sql, account)
  const [user] = id === undefined ? [] : await selectUsers(sql, id)
  if (!user) throw noAccount(account)
  return user.account_id
}

async function findOnlyAccount(sql: Sql): Promise<string> {
  const [id, ...others] = new Set((await selectUsers(sql, null)).map(({ account_id }) => account_id))
  if (id !== undefined && others.length === 0) return id
  throw new OperatorError(id === undefined ? 'there is no account' : `there are ${others.length + 1} accounts`, {
    code: 'invalid',
    hint:
      id === undefined
        ? 'consentctl admin account create'
        : 'select one with --account, by its id or the e-mail of a user: consentctl admin account list',
  })
}
