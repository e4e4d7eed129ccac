import type { Sql } from 'postgres'
import type { Credentials, Session } from '../../src/contract/index.ts'
import { type Caller, unauthorized } from '../auth/caller.ts'
import { type PasswordSource, verifyPassword } from '../auth/password.ts'
import { signSession } from '../auth/session.ts'
import { noId } from '../ids.ts'
import { endSessions, findEmail, findLogin, findUser } from './queries.ts'

interface SessionDeps {
  readonly sql: Sql
  readonly sessionSecret: Uint8Array
}

/** An unknown e-mail takes as long as a known one. */
const unknownUser = { accountId: noId, userId: noId }

/** @throws Failure `unauthorized`, identical for an unknown e-mail and a wrong password */
export async function signIn(
  { sql, sessionSecret }: SessionDeps,
  { email, password }: Credentials,
  from: PasswordSource,
): Promise<{ session: Session; token: string }> {
  const address = email.toLowerCase()
  const login = await findLogin(sql, address)
  const user = await findUser(sql, login ?? unknownUser)
  const isRight = await verifyPassword(password, user?.password_hash ?? null, from)
  if (!login || !user || !isRight) {
    throw unauthorized('The e-mail or the password is wrong.')
  }
  const { accountId, userId } = login
  const signed = await signSession(sessionSecret, { ...login, version: user.session_version })
  const session = {
    account_id: accountId,
    user: { id: userId, email: address, role: user.role },
    expires_at: signed.expiresAt.toISOString(),
  }
  return { session, token: signed.token }
}

export async function getSession({ sql }: SessionDeps, caller: Caller): Promise<Session> {
  const { accountId, id, role = 'reader' } = caller
  const email = await findEmail(sql, { accountId, userId: id })
  return {
    account_id: accountId,
    user: { id, email: email ?? '', role },
    expires_at: caller.sessionExpiresAt?.toISOString() ?? '',
  }
}

export async function signOut({ sql }: SessionDeps, { accountId, id }: Caller): Promise<void> {
  await endSessions(sql, { accountId, userId: id })
}
