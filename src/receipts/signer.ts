import { hostname, userInfo } from 'node:os'
import type { Client } from '../client/client.ts'
import type { ResponseInfo } from '../client/request.ts'
import type { Context } from '../context.ts'
import { caller } from '../contract/caller.ts'
import type { Scope } from '../contract/endpoint.ts'
import { CliError, Explained, exit, usageError } from '../errors/errors.ts'
import { explain, scopeHint } from '../errors/explain.ts'
import { requireApiKey, requireBaseUrl } from '../settings/settings.ts'
import { openReceiptKey, type ReceiptKey } from './keys.ts'
import { locateReceipts, type ReceiptStore } from './store.ts'

export interface Operator {
  readonly who: string
  readonly host: string
}

/** Null if not known. */
export interface Identity {
  readonly account_id: string | null
  readonly api_key_id: string | null
}

/** `scopes`: null for a user, or if not known. */
export interface IdentifiedKey extends Identity {
  readonly scopes: readonly string[] | null
}

export interface Signer extends Operator, Identity {
  readonly instance: string
  readonly profile: string
  readonly store: ReceiptStore
  readonly key: ReceiptKey
}

/** Reads or creates the signing key, and requests the account unless given. @throws CliError */
export async function openSigner(
  ctx: Context,
  store: ReceiptStore = locateReceipts(ctx),
  identity?: Identity,
): Promise<Signer> {
  const instance = requireBaseUrl(ctx.settings)
  const key = await openReceiptKey(store)
  const { account_id, api_key_id } = identity ?? (await identify(ctx.api))
  return { ...findOperator(), instance, profile: store.profile, store, key, account_id, api_key_id }
}

const unknown: IdentifiedKey = { account_id: null, api_key_id: null, scopes: null }

/** The account matters because another account's record is just a 404. */
export async function identify(api: Client, onResponse?: (response: ResponseInfo) => void): Promise<IdentifiedKey> {
  if (!(await api.supports(caller.get))) return unknown
  try {
    const { account_id, kind, id, scopes } = await api.call(caller.get, { onResponse })
    return { account_id, api_key_id: kind === 'api_key' ? id : null, scopes }
  } catch (error) {
    if (explain(error).code === 'forbidden') return unknown // the key may write but not read
    throw error
  }
}

/**
 * Fails as the request would, but before the user confirms.
 * @throws CliError `forbidden` (exit 4)
 */
export function requireScope({ settings }: Context, { scopes }: IdentifiedKey, scope: Scope): void {
  if (scopes === null || scopes.includes(scope)) return
  const message = `The API key lacks the scope ${scope}.`
  const why = `the key came from ${requireApiKey(settings).source}`
  throw new Explained(new CliError('forbidden', exit.auth, message), { why, hint: scopeHint([scope]) })
}

export function findOperator(): Operator {
  return { who: userName(), host: hostname() }
}

function userName(): string {
  try {
    return userInfo().username
  } catch {
    return 'unknown' // in some containers
  }
}

/** @throws CliError (usage) */
export function requireSameInstance(
  { settings }: Pick<Context, 'settings'>,
  instance: string,
  noun: 'receipt' | 'plan',
): void {
  const here = requireBaseUrl(settings)
  if (here === instance) return
  throw usageError(`the ${noun} is from ${instance}, not from ${here}`, `--base-url ${instance}`)
}
