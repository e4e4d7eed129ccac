import type { KeyObject } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { callOptional, instanceLabel, quoteForShell } from '../../cli/messages.ts'
import { NetworkError } from '../../client/errors.ts'
import type { Context } from '../../context.ts'
import { signingKeys } from '../../contract/signing-keys.ts'
import { findKnownKey } from '../../erasure/kept.ts'
import { dataError, exit, Resumable, usageError } from '../../errors/errors.ts'
import { explain } from '../../errors/explain.ts'
import type { FindKeys, Keys } from '../../evidence/document.ts'
import { readKeySet, type TrustedKey, trustKeys } from '../../evidence/key-chain.ts'
import { keyIdOf, readPublicKey } from '../../evidence/keys.ts'
import { readText } from '../../io/input.ts'
import { ownKeys } from '../../receipts/signer.ts'
import { locateReceipts } from '../../receipts/store.ts'

/** @throws CliError unless all are JWK sets */
export async function readKeySets({ io }: Pick<Context, 'io'>, files: readonly string[]): Promise<FindKeys> {
  return await fromFiles(files, async file => parseKeySet(await readText(io, file), file))
}

/** @throws CliError unless all are PEM keys */
export async function readPems({ io }: Pick<Context, 'io'>, files: readonly string[]): Promise<FindKeys> {
  return await fromFiles(files, async file => trusted([readPem(await readText(io, file), file)]))
}

async function fromFiles(
  files: readonly string[],
  read: (file: string) => Promise<ReadonlyMap<string, TrustedKey>>,
): Promise<FindKeys> {
  const byId = new Map<string, TrustedKey>()
  const filesOf = new Map<string, string[]>()
  for (const file of files)
    for (const [id, key] of await read(file)) {
      byId.set(id, both(byId.get(id), key))
      filesOf.set(id, [...(filesOf.get(id) ?? []), file])
    }
  const keys: Keys = {
    byId,
    sourceOf: id => `from ${filesOf.get(id)?.join(' and ')}`,
    none: `none of those from ${files.join(', ')}`,
  }
  return async () => keys
}

/** Fetched on demand, from the instance or the profile. */
export function instanceKeys(ctx: Context): FindKeys {
  const found = new Map<string, Promise<Keys>>()
  return (signer, keyId = '') => {
    const name = signer === 'profile' ? keyId : signer
    const keys = found.get(name) ?? (signer === 'profile' ? profileKeys(ctx, keyId) : fetchKeys(ctx))
    found.set(name, keys)
    return keys
  }
}

/** @throws CliError invalid_data (exit 5) if the default keys are missing */
export async function requirePublishedKeys(ctx: Context): Promise<ReadonlyMap<string, TrustedKey>> {
  try {
    return (await fetchKeys(ctx)).byId
  } catch (error) {
    const { message, exit: code } = explain(error)
    throw code === exit.usage ? dataError(message) : error
  }
}

/** That of the profile, or of a colleague, as the service knows it. */
async function profileKeys(ctx: Context, keyId: string): Promise<Keys> {
  const source = `that of the profile ${ctx.settings.profile.value}`
  const own = trusted(await ownKeys(locateReceipts(ctx)))
  const other = own.has(keyId) ? '' : await findOtherProfile(ctx, keyId)
  const known = own.has(keyId) || other ? null : await findKnownKey(ctx, keyId)
  return {
    byId: known ? trusted([known.key]) : own,
    sourceOf: () =>
      known ? `one that ${instanceLabel(ctx)} knows since ${known.since}, without saying who holds it` : source,
    none: `not ${source}${other || '; give that of the signer with --public-key'}`,
  }
}

async function findOtherProfile(ctx: Context, keyId: string): Promise<string> {
  const { settings } = ctx
  const files = await readdir(dirname(locateReceipts(ctx).keyFile)).catch(() => [])
  for (const name of files.filter(file => file.endsWith('.pem')).map(file => basename(file, '.pem'))) {
    const profile = { ...settings.profile, value: name }
    const keys = await ownKeys(locateReceipts({ ...ctx, settings: { ...settings, profile } })).catch(() => [])
    if (keys.some(key => keyIdOf(key) === keyId)) return ` but that of the profile ${name}: -p ${quoteForShell(name)}`
  }
  return ''
}

async function fetchKeys(ctx: Context): Promise<Keys> {
  const { baseUrl } = ctx.settings
  const hint = 'name a file of keys that you have kept, with --keys or --public-key'
  if (!baseUrl) throw usageError('no instance is configured to fetch the keys from', hint)
  const api = ctx.apiWith(null) // the keys are public
  const text = await callOptional(api, signingKeys.list, () => api.text(signingKeys.list, {}), {
    message: `${baseUrl.value} publishes no keys`,
    hint,
  }).catch((error: unknown) => {
    if (!(error instanceof NetworkError)) throw error
    throw new Resumable(error, `start the instance, or ${hint}`)
  })
  return {
    byId: parseKeySet(text, `the response of ${baseUrl.value}`),
    sourceOf: () => `published by ${baseUrl.value}`,
    none: `none of those published by ${baseUrl.value}`,
  }
}

/** Accepts a key without a chain, at any time. */
function trusted(keys: readonly KeyObject[]): Map<string, TrustedKey> {
  return trustKeys(keys.map(publicKey => ({ publicKey, statement: null, revocation: null })))
}

/** A key in two sets must be valid in both: the newer one may revoke it. */
function both(one: TrustedKey | undefined, other: TrustedKey): TrustedKey {
  return one ? { ...other, findProblem: time => one.findProblem(time) ?? other.findProblem(time) } : other
}

function parseKeySet(text: string, name: string): Map<string, TrustedKey> {
  try {
    return readKeySet(text)
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    throw dataError(`${name} ${error.message}`, 'use a file such as consent-keys.json')
  }
}

export function readPem(text: string, name: string): KeyObject {
  try {
    return readPublicKey(text)
  } catch {
    throw dataError(`${name} is not an Ed25519 public key in PEM`)
  }
}
