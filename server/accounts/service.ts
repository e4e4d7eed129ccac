import type { Sql } from 'postgres'
import {
  type AccountDraft,
  type AccountRow,
  Credentials,
  type NewAccount,
  type NewPassword,
  OperatorError,
  planQuotas,
  type QuotaOrder,
  Uuid,
} from '../../src/contract/index.ts'
import { machine } from '../audit/entries.ts'
import { hashOf, hintOf, newApiKey, newSiteToken } from '../auth/credential.ts'
import { hashPassword, newPassword } from '../auth/password.ts'
import { toJson } from '../db/rows.ts'
import { newId } from '../ids.ts'
import { monthOf } from '../quota/quota.ts'
import { findLogin, setPassword } from '../session/queries.ts'
import { insertAccount, type QuotaRow, selectQuotas, updateQuota } from './queries.ts'

const minPasswordLength = 8

/**
 * Returns the only copy of the secrets.
 * @throws OperatorError for an e-mail that is invalid or in use
 */
export async function createAccount(sql: Sql, draft: AccountDraft): Promise<NewAccount> {
  const { email, plan = 'unlimited', site: siteName = 'default', password = newPassword() } = draft
  requireEmail(email)
  requireLength(password)
  const [accountId, userId, siteId] = [newId(), newId(), newId()]
  const [apiKey, token] = [newApiKey(accountId), newSiteToken(accountId, siteId)]
  const created = await insertAccount(sql, {
    accountId,
    plan,
    monthlyQuota: draft.monthlyQuota ?? planQuotas[plan],
    user: { id: userId, email: email.toLowerCase(), passwordHash: await hashPassword(password) },
    site: { id: siteId, name: siteName, tokenHash: hashOf(token) },
    key: { id: newId(), name: 'first key', keyHash: hashOf(apiKey), hint: hintOf(apiKey) },
    at: new Date(),
  })
  if (!created) throw new OperatorError(`an account with the e-mail ${email} already exists`, { code: 'conflict' })
  return {
    account_id: accountId,
    user: {
      id: userId,
      email: email.toLowerCase(),
      password: draft.password === undefined ? password : null,
    },
    site: { id: siteId, name: siteName, token },
    api_key: apiKey,
  }
}

/** Oldest first: ids are UUIDs version 7. */
export async function listAccounts(sql: Sql): Promise<AccountRow[]> {
  return (await selectQuotas(sql, monthOf(new Date()))).map(toAccountRow)
}

/**
 * Takes effect within a second.
 * @throws OperatorError for an unknown account
 */
export async function setQuota(sql: Sql, { account, monthlyQuota }: QuotaOrder): Promise<AccountRow> {
  const id = await findAccount(sql, account)
  if (id === undefined || !(await updateQuota(sql, id, { monthlyQuota, at: new Date() }))) throw noAccount(account)
  const [row] = await selectQuotas(sql, monthOf(new Date()), id)
  return toAccountRow(row as QuotaRow)
}

/** Returns an id without checking that it exists. */
export async function findAccount(sql: Sql, account: string): Promise<string | undefined> {
  return Uuid.safeParse(account).data ?? (await findLogin(sql, account.toLowerCase()))?.accountId
}

export function noAccount(account: string): OperatorError {
  const hint = 'consentctl admin account list'
  return new OperatorError(`no account has the id or e-mail ${account}`, { code: 'not_found', hint })
}

function toAccountRow(row: QuotaRow): AccountRow {
  const { monthly_quota: quota, used } = row
  return { ...toJson<Omit<AccountRow, 'remaining'>>(row), remaining: quota === null ? null : Math.max(0, quota - used) }
}

/**
 * Ends the user's sessions too.
 * @throws OperatorError for an unknown user
 */
export async function resetPassword(
  sql: Sql,
  { email, password: given }: { readonly email: string; readonly password?: string | undefined },
): Promise<NewPassword> {
  const password = given ?? newPassword()
  requireLength(password)
  const user = await findLogin(sql, email.toLowerCase())
  const change = { passwordHash: await hashPassword(password), at: new Date() }
  if (!user || !(await setPassword(sql, user, change, machine)))
    throw new OperatorError(`no user has the e-mail ${email}`, { code: 'not_found' })
  return { email: email.toLowerCase(), password: given === undefined ? password : null }
}

export function requireEmail(email: string): void {
  if (!/^[^\s@]+@[^\s@]+$/.test(email) || !Credentials.shape.email.safeParse(email).success)
    throw new OperatorError(`"${email}" is not an e-mail address`, { code: 'invalid' })
}

export function requireLength(password: string): void {
  if (!Credentials.shape.password.safeParse(password).success) {
    throw new OperatorError('a password must be text of at most 1024 characters, without NUL', {
      code: 'invalid',
    })
  }
  if ([...password].length < minPasswordLength) {
    throw new OperatorError(`a password must have at least ${minPasswordLength} characters`, {
      code: 'invalid',
    })
  }
}
