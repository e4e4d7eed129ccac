import { createHmac, createPublicKey, hkdfSync, type KeyObject } from 'node:crypto'
import { chmod, readFile, stat } from 'node:fs/promises'
import { hostname, userInfo } from 'node:os'
import { dirname } from 'node:path'
import type { Client } from '../client/client.ts'
import type { ResponseInfo } from '../client/request.ts'
import type { Context } from '../context.ts'
import { caller } from '../contract/caller.ts'
import type { Scope } from '../contract/endpoint.ts'
import { CliError, Explained, exit, settingsError, usageError } from '../errors/errors.ts'
import { explain, scopeHint } from '../errors/explain.ts'
import { keyIdOf, newSigningKey, privatePem, readSigningKey } from '../evidence/keys.ts'
import { makeFolder, partOf } from '../io/new-file.ts'
import { requireApiKey, requireBaseUrl } from '../settings/settings.ts'
import { isOpenToOthers } from '../settings/store.ts'
import { createFile, explainIo, locateReceipts, nullIfMissing, type ReceiptStore } from './store.ts'

export interface Operator {
  readonly who: string
  readonly host: string
}

/** Null if unknown. */
export interface Identity {
  readonly account_id: string | null
  readonly api_key_id: string | null
}

/** `scopes`: null for a user, or if unknown; `site_ids`: null for every site, or if unknown. */
export interface IdentifiedKey extends Identity {
  readonly scopes: readonly string[] | null
  readonly site_ids: readonly string[] | null
}

export interface Signer extends Operator, IdentifiedKey {
  readonly instance: string
  readonly profile: string
  readonly store: ReceiptStore
  readonly key: ReceiptKey
}

/** Reads or creates the signing key, and requests the account unless given. @throws CliError */
export async function openSigner(
  ctx: Context,
  store: ReceiptStore = locateReceipts(ctx),
  key?: IdentifiedKey,
): Promise<Signer> {
  const instance = requireBaseUrl(ctx.settings)
  const receiptKey = await openReceiptKey(store)
  const identified = key ?? (await identify(ctx.api))
  return { ...findOperator(), instance, profile: store.profile, store, key: receiptKey, ...identified }
}

const unknown: IdentifiedKey = { account_id: null, api_key_id: null, scopes: null, site_ids: null }

/** The account matters because another account's record is just a 404. */
export async function identify(api: Client, onResponse?: (response: ResponseInfo) => void): Promise<IdentifiedKey> {
  if (!(await api.supports(caller.get))) return unknown
  try {
    const { account_id, kind, id, scopes, site_ids } = await api.call(caller.get, { onResponse })
    return { account_id, api_key_id: kind === 'api_key' ? id : null, scopes, site_ids }
  } catch (error) {
    if (explain(error).code === 'forbidden') return unknown // the key may write but not read
    throw error
  }
}

/**
 * Fails like the request would, but before the user confirms.
 * @throws CliError `forbidden` (exit 4)
 */
export function requireScope({ settings }: Context, { scopes }: IdentifiedKey, scope: Scope): void {
  if (scopes === null || scopes.includes(scope)) return
  const message = `The API key lacks the scope ${scope}.`
  const why = `the key came from ${requireApiKey(settings).source}`
  throw new Explained(new CliError('forbidden', exit.auth, message), { why, hint: scopeHint([scope]) })
}

/**
 * A receipt is about all that the account has of a person.
 * @throws CliError `forbidden` (exit 4)
 */
export function requireEverySite({ site_ids }: Pick<IdentifiedKey, 'site_ids'>): void {
  if (site_ids === null) return
  throw new CliError(
    'forbidden',
    exit.auth,
    'the API key is restricted to some sites: it does not see all of a person',
    {
      hint: 'use a key that is not restricted to sites',
    },
  )
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

export interface ReceiptKey {
  readonly key: KeyObject
  /** RFC 7638 thumbprint. */
  readonly id: string
  /**
   * HMAC-SHA-256 in hexadecimal, with a key derived by HKDF (RFC 5869): only the private key's owner can test a
   * guess.
   */
  hmacOf(subject: string): string
}

/** @throws CliError if it cannot be read or created */
export async function openReceiptKey(store: ReceiptStore): Promise<ReceiptKey> {
  const present = await findReceiptKey(store)
  if (present) return present
  const { keyFile } = store
  await explainIo(`${keyFile} cannot be written`, async () => {
    await makeFolder(dirname(keyFile))
    // If two processes create it, both read the first one's key.
    await createFile(keyFile, partOf(keyFile), privatePem(newSigningKey()))
  })
  const made = await findReceiptKey(store)
  if (!made) throw settingsError(`${keyFile} was removed`)
  return made
}

export async function findReceiptKey(store: ReceiptStore): Promise<ReceiptKey | null> {
  const { keyFile } = store
  const pem = await explainIo(`${keyFile} cannot be read`, () => readFile(keyFile, 'utf8').catch(nullIfMissing))
  if (pem === null) return null
  await makePrivate(store)
  try {
    return toReceiptKey(readSigningKey(pem))
  } catch {
    throw settingsError(
      `${keyFile} does not contain an Ed25519 private key`,
      'restore it from a backup, or move it away: later receipts are then signed with a new key',
    )
  }
}

/** Null before the first signature. */
export async function ownKeys(store: ReceiptStore): Promise<readonly KeyObject[]> {
  const own = await findReceiptKey(store)
  return own ? [createPublicKey(own.key)] : []
}

async function makePrivate({ keyFile, warn }: ReceiptStore): Promise<void> {
  if (!isOpenToOthers((await stat(keyFile)).mode)) return
  await chmod(keyFile, 0o600).catch(() => {})
  await warn(`warning: ${keyFile} was open to others, who may have copied it; now only you can read it`)
}

/** Separates uses of the private key. */
const purpose = 'consentctl erasure receipt: subject identifiers'

function toReceiptKey(key: KeyObject): ReceiptKey {
  const secret = Buffer.from(String(key.export({ format: 'jwk' }).d), 'base64url')
  const derived = Buffer.from(hkdfSync('sha256', secret, Buffer.alloc(0), purpose, 32))
  return {
    key,
    id: keyIdOf(key),
    hmacOf: subject => createHmac('sha256', derived).update(subject).digest('hex'),
  }
}
