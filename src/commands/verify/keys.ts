import type { KeyObject } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import * as z from 'zod'
import { callOptional, quoteForShell } from '../../cli/messages.ts'
import { NetworkError } from '../../client/errors.ts'
import type { Context } from '../../context.ts'
import type { DocumentKind } from '../../contract/documents/index.ts'
import { parseExactJson } from '../../contract/exact-json.ts'
import { signingKeys } from '../../contract/signing-keys.ts'
import { dataError, Resumable, usageError } from '../../errors/errors.ts'
import { type TrustedKey, trustKeys } from '../../evidence/key-chain.ts'
import { keyIdOf, publicKeyOf, publicPem, readPublicKey } from '../../evidence/keys.ts'
import { readText } from '../../io/input.ts'
import { ownKeys } from '../../receipts/keys.ts'
import { locateReceipts } from '../../receipts/store.ts'

export interface Keys {
  readonly byId: ReadonlyMap<string, TrustedKey>
  /** Completes "the key is …". */
  sourceOf(keyId: string): string
  /** For an unknown key; completes "it is …". */
  readonly none: string
  /** A suffix for `none`. */
  findElsewhere?(keyId: string): Promise<string>
}

export type FindKeys = (signer: DocumentKind['signer']) => Promise<Keys>

/** @throws CliError unless all are JWK sets */
export async function readKeySets({ io }: Pick<Context, 'io'>, files: readonly string[]): Promise<FindKeys> {
  return await fromFiles(files, async file => readKeySet(await readText(io, file), file))
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

/** On demand, from the instance or the profile. */
export function instanceKeys(ctx: Context): FindKeys {
  const found = new Map<DocumentKind['signer'], Promise<Keys>>()
  return signer => {
    const keys = found.get(signer) ?? (signer === 'profile' ? profileKeys(ctx) : publishedKeys(ctx))
    found.set(signer, keys)
    return keys
  }
}

async function profileKeys(ctx: Context): Promise<Keys> {
  const source = `that of the profile ${ctx.settings.profile.value}`
  return {
    byId: trusted(await ownKeys(locateReceipts(ctx))),
    sourceOf: () => source,
    none: `not ${source}`,
    findElsewhere: keyId => findOtherProfile(ctx, keyId),
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

async function publishedKeys(ctx: Context): Promise<Keys> {
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
    byId: readKeySet(text, `the response of ${baseUrl.value}`),
    sourceOf: () => `published by ${baseUrl.value}`,
    none: `none of those published by ${baseUrl.value}`,
  }
}

/** Without a chain: valid at any time. */
export function trusted(keys: readonly KeyObject[]): Map<string, TrustedKey> {
  return trustKeys(keys.map(publicKey => ({ publicKey, statement: null, revocation: null })))
}

/** A key in two sets must be valid in both: the newer one may revoke it. */
function both(one: TrustedKey | undefined, other: TrustedKey): TrustedKey {
  return one ? { ...other, findProblem: time => one.findProblem(time) ?? other.findProblem(time) } : other
}

const KeySet = z.object({ keys: z.array(z.record(z.string(), z.unknown())) })

/** Ed25519 keys of a JWK set (RFC 7517); others are ignored (section 5). */
export function readKeySet(text: string, name: string): Map<string, TrustedKey> {
  const parsed = KeySet.safeParse(parse(text, name))
  if (!parsed.success) throw dataError(`${name} is not a JWK set`, 'use a file such as consent-keys.json')
  const keys = parsed.data.keys.filter(({ kty, crv }) => kty === 'OKP' && crv === 'Ed25519')
  if (keys.length === 0) throw dataError(`${name} has no Ed25519 key`)
  const published = keys.map(({ x, kid, pem, statement, revocation }) => {
    const bytes = Buffer.from(String(x), 'base64url')
    const isCanonical = bytes.length === 32 && bytes.toString('base64url') === x
    const key = isCanonical ? publicKeyOf(bytes) : null
    // Id, PEM and bytes must be of one key.
    const isSame = key && [undefined, keyIdOf(key)].includes(kid as string)
    if (!isSame || ![undefined, publicPem(key)].includes(pem as string))
      throw dataError(`${name} has a key whose key_id or PEM does not match it`)
    const textOf = (value: unknown) => (typeof value === 'string' ? value : null)
    return { publicKey: key, statement: textOf(statement), revocation: textOf(revocation) }
  })
  return trustKeys(published)
}

function parse(text: string, name: string): unknown {
  try {
    return parseExactJson(text)
  } catch (error) {
    throw dataError(`${name} ${(error as Error).message}`)
  }
}

export function readPem(text: string, name: string): KeyObject {
  try {
    return readPublicKey(text)
  } catch {
    throw dataError(`${name} is not an Ed25519 public key in PEM`)
  }
}
