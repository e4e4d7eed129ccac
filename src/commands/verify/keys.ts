import type { KeyObject } from 'node:crypto'
import * as z from 'zod'
import { callOptional } from '../../cli/messages.ts'
import type { Context } from '../../context.ts'
import type { DocumentKind } from '../../contract/documents/index.ts'
import { parseExactJson } from '../../contract/json.ts'
import { signingKeys } from '../../contract/signing-keys.ts'
import { ownKeys } from '../../erasure/keys.ts'
import { locateReceipts } from '../../erasure/store.ts'
import { dataError, usageError } from '../../errors/errors.ts'
import { keyIdOf, publicKeyOf, publicPem, readPublicKey } from '../../evidence/keys.ts'
import { readText } from '../../io/input.ts'

/** Public keys by their ids. */
export interface Keys {
  readonly byId: ReadonlyMap<string, KeyObject>
  /** Where they are from, as it completes "the key is …". */
  readonly source: string
}

/** The keys that a kind of document is verified with. */
export type FindKeys = (signer: DocumentKind['signer']) => Promise<Keys>

/** The keys of these files: sets of keys, and single ones in PEM. Throws a CliError for a file that is neither. */
export async function keysOfFiles(
  { io }: Pick<Context, 'io'>,
  { sets, single }: { readonly sets: readonly string[]; readonly single: readonly string[] },
): Promise<FindKeys> {
  const found: KeyObject[] = []
  for (const file of sets) found.push(...readKeySet(await readText(io, file), file))
  for (const file of single) found.push(readPem(await readText(io, file), file))
  const keys = { byId: byIds(found), source: `from ${[...sets, ...single].join(', ')}` }
  return async () => keys
}

/** The keys that the instance publishes, and for what a profile has signed those of the profile; asked for when needed. */
export function keysOfInstance(ctx: Context): FindKeys {
  const found = new Map<DocumentKind['signer'], Promise<Keys>>()
  return signer => {
    const keys = found.get(signer) ?? (signer === 'profile' ? profileKeys(ctx) : publishedKeys(ctx))
    found.set(signer, keys)
    return keys
  }
}

async function profileKeys(ctx: Context): Promise<Keys> {
  const source = `that of the profile ${ctx.settings.profile.value}`
  return { byId: byIds(await ownKeys(locateReceipts(ctx))), source }
}

async function publishedKeys(ctx: Context): Promise<Keys> {
  const { baseUrl } = ctx.settings
  const ways = '--keys or --public-key with a file of keys that you have kept'
  if (!baseUrl) throw usageError('no instance is set whose keys could be asked for', ways)
  const api = ctx.apiWith(null) // what anyone may see needs no key
  const text = await callOptional(api, signingKeys.list, () => api.text(signingKeys.list, {}), {
    message: `${baseUrl.value} publishes no keys`,
    hint: ways,
  })
  return {
    byId: byIds(readKeySet(text, `the answer of ${baseUrl.value}`)),
    source: `asked of ${baseUrl.value}, just now`,
  }
}

function byIds(keys: readonly KeyObject[]): ReadonlyMap<string, KeyObject> {
  return new Map(keys.map(key => [keyIdOf(key), key]))
}

const KeySet = z.object({ keys: z.array(z.record(z.string(), z.unknown())) })

/** The Ed25519 keys of a JWK Set (RFC 7517), which may have others too (section 5). */
function readKeySet(text: string, name: string): KeyObject[] {
  const parsed = KeySet.safeParse(parse(text, name))
  if (!parsed.success) throw dataError(`${name} is no set of keys`, 'a file such as consent-keys.json is one')
  const keys = parsed.data.keys.filter(({ kty, crv }) => kty === 'OKP' && crv === 'Ed25519')
  if (keys.length === 0) throw dataError(`${name} has no key of Ed25519`)
  return keys.map(({ x, kid, pem }) => {
    const bytes = Buffer.from(String(x), 'base64url')
    const isWritten = bytes.length === 32 && bytes.toString('base64url') === x
    const key = isWritten ? publicKeyOf(bytes) : null
    // Whoever reads the id or the PEM of a key must come upon the same key as whoever reads its bytes.
    const isOne = key && [undefined, keyIdOf(key)].includes(kid as string)
    if (!isOne || ![undefined, publicPem(key)].includes(pem as string))
      throw dataError(`${name} has a key that contradicts itself`)
    return key
  })
}

function parse(text: string, name: string): unknown {
  try {
    return parseExactJson(text)
  } catch (error) {
    throw dataError(`${name} ${(error as Error).message}`)
  }
}

function readPem(text: string, name: string): KeyObject {
  try {
    return readPublicKey(text)
  } catch {
    throw dataError(`${name} is no public key of Ed25519 in PEM`)
  }
}
