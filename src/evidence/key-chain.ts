import { type KeyObject, verify } from 'node:crypto'
import * as z from 'zod'
import type { Checkpoint } from '../contract/documents/checkpoint.ts'
import { KeyRevocation, SigningKeyStatement } from '../contract/documents/signing-key.ts'
import { parseExactJson } from '../contract/exact-json.ts'
import { sha256 } from './bytes.ts'
import { jcs } from './canonical.ts'
import { keyIdOf, publicKeyOf, publicPem } from './keys.ts'
import { MerkleTree } from './merkle.ts'
import { type Claimed, readSigned, type SignedCheckpoint, type SignedFields } from './signed.ts'

export interface TrustedKey {
  readonly publicKey: KeyObject
  /** Why the key cannot prove a document of that time, or null. Completes "the key …". */
  findProblem(time: string): string | null
}

export interface ChainKey extends TrustedKey {
  readonly keyId: string
  /** Earliest document that the key may sign. */
  readonly notBefore: string
  readonly statement: string
  readonly revocation: { readonly at: string; readonly isCompromised: boolean; readonly text: string } | null
}

export interface KeyChain {
  /** Empty if the anchor has no statement. */
  readonly keys: ReadonlyMap<string, ChainKey>
  readonly newest: string | null
  /** Documents that belong to the chain. */
  readonly documents: readonly string[]
}

/**
 * Keys that chain to the anchor, oldest first: earlier ones by statements of later ones, later ones signed by the
 * previous key. A second successor of a key is excluded: a thief of that key could have signed it.
 */
export function readKeyChain(documents: readonly string[], anchor: string): KeyChain {
  const statements = documents.flatMap(readStatement)
  const keyOf = new Map(statements.map(({ fields, key }) => [fields.kid, key]))
  const isSigned = ({ fields, isSignedBy }: Statement) => {
    const signer = keyOf.get(fields.key_id)
    return signer !== undefined && isSignedBy(signer)
  }
  const signed = statements.filter(isSigned)
  const line: Statement[] = []
  const isKnown = (kid: string) => line.some(({ fields }) => fields.kid === kid)
  const findBefore = ({ fields: { previous, previous_sha256 } }: Statement) =>
    signed.find(({ fields: { kid }, sha256 }) => kid === previous && sha256 === previous_sha256)
  let first = signed.find(({ fields }) => fields.kid === anchor)
  for (; first && !isKnown(first.fields.kid); first = findBefore(first)) line.unshift(first)
  for (let last = line.at(-1); last !== undefined; last = line.at(-1)) {
    const { kid } = last.fields
    const { key, sha256 } = last
    const next = statements.find(
      ({ fields: { previous, previous_sha256, key_id, kid: own }, isSignedBy }) =>
        previous === kid && previous_sha256 === sha256 && key_id === kid && !isKnown(own) && isSignedBy(key),
    )
    if (!next) break
    line.push(next)
  }
  const revocations = documents.flatMap(text => readRevocation(text, line))
  const texts = new Set([...line, ...revocations].map(({ text }) => text))
  return {
    keys: new Map(line.map(one => [one.fields.kid, toChainKey(one, worst(revocations, one.fields.kid))])),
    newest: line.at(-1)?.fields.kid ?? null,
    documents: documents.filter(text => texts.has(text)),
  }
}

/** Subjects of the statements, in order, regardless of the signer. */
export function listIntroduced(documents: readonly string[]): string[] {
  return documents.flatMap(readStatement).map(({ fields }) => fields.kid)
}

/** Root of the log of keys (RFC 9162) at `size`; null if it has fewer documents. */
export function findKeysRoot(documents: readonly string[], size: number): Buffer | null {
  if (size > documents.length) return null
  const tree = new MerkleTree()
  for (const text of documents.slice(0, size)) tree.append(Buffer.from(text))
  return tree.root
}

export function findKeyLogProblem(documents: readonly string[], checkpoint: Checkpoint): string | null {
  const root = findKeysRoot(documents, checkpoint.keys_size)?.toString('hex')
  return root === checkpoint.keys_root ? null : 'the log of keys is not the one that it names'
}

/**
 * Why a signature does not prove a document, or null: the key must be known and valid then. Completes "the document
 * …".
 */
export function findSignatureProblem(
  { key_id, time, isSignedBy }: { readonly key_id: string; readonly time: string } & Pick<Claimed, 'isSignedBy'>,
  keys: ReadonlyMap<string, TrustedKey>,
): string | null {
  const key = keys.get(key_id)
  if (!key) return `names the key ${key_id}, which is unknown`
  if (!isSignedBy(key.publicKey)) return 'is not what was signed: it, its key_id or its signature was changed'
  const problem = key.findProblem(time)
  return problem && `is signed by the key ${key_id}, which ${problem}`
}

export function findCheckpointProblem(
  { checkpoint: { key_id, created_at: time }, isSignedBy }: Pick<SignedCheckpoint, 'checkpoint' | 'isSignedBy'>,
  keys: ReadonlyMap<string, TrustedKey>,
): string | null {
  return findSignatureProblem({ key_id, time, isSignedBy }, keys)
}

function toChainKey({ text, fields, key }: Statement, revocation: ChainKey['revocation']): ChainKey {
  const link = { keyId: fields.kid, publicKey: key, notBefore: fields.not_before, statement: text, revocation }
  return { ...link, findProblem: time => findKeyProblem(link, time) }
}

function findKeyProblem({ notBefore, revocation }: Omit<ChainKey, 'findProblem'>, time: string): string | null {
  if (revocation?.isCompromised)
    return `was revoked at ${revocation.at} because it was compromised: nothing that it signed can be relied on`
  if (time < notBefore) return `was not valid yet at ${time}, the time of the document, but from ${notBefore} on`
  if (revocation && time > revocation.at) return `was revoked at ${revocation.at}, before the time of the document`
  return null
}

/** The bytes that `proof` signs. */
export function proofMessage({ proof: _, ...fields }: Omit<SigningKeyStatement, 'proof'> & { proof?: string }): Buffer {
  return jcs(fields)
}

export interface PublishedKey {
  readonly publicKey: KeyObject
  readonly statement: string | null
  readonly revocation: string | null
}

/** Keys by id. All must chain to the first one, unless none has a statement. */
export function trustKeys(keys: readonly PublishedKey[]): Map<string, TrustedKey> {
  const ids = keys.map(({ publicKey }) => keyIdOf(publicKey))
  const [anchor = ''] = ids
  const documents = keys.flatMap(({ statement, revocation }) => [statement ?? [], revocation ?? []].flat())
  const chain = documents.length === 0 ? null : readKeyChain(documents, anchor)
  return new Map(
    keys.map(({ publicKey }, index) => {
      const [keyId = ''] = ids.slice(index)
      const stranger = { publicKey, findProblem: () => `does not chain to the key ${anchor}, the first of the set` }
      return [keyId, chain === null ? { publicKey, findProblem: () => null } : (chain.keys.get(keyId) ?? stranger)]
    }),
  )
}

const KeySet = z.object({ keys: z.array(z.record(z.string(), z.unknown())) })

/**
 * Ed25519 keys of a JWK set (RFC 7517); others are ignored (section 5).
 * @throws SyntaxError with a message that completes "the file …"
 */
export function readKeySet(text: string): Map<string, TrustedKey> {
  const parsed = KeySet.safeParse(parseExactJson(text))
  if (!parsed.success) throw new SyntaxError('is not a JWK set')
  const keys = parsed.data.keys.filter(({ kty, crv }) => kty === 'OKP' && crv === 'Ed25519')
  if (keys.length === 0) throw new SyntaxError('has no Ed25519 key')
  const published = keys.map(({ x, kid, pem, statement, revocation }) => {
    const bytes = Buffer.from(String(x), 'base64url')
    const isCanonical = bytes.length === 32 && bytes.toString('base64url') === x
    const key = isCanonical ? publicKeyOf(bytes) : null
    // Id, PEM and bytes must belong to the same key.
    const isSame = key && [undefined, keyIdOf(key)].includes(kid as string)
    if (!isSame || ![undefined, publicPem(key)].includes(pem as string))
      throw new SyntaxError('has a key whose key_id or PEM does not match it')
    const textOf = (value: unknown) => (typeof value === 'string' ? value : null)
    return { publicKey: key, statement: textOf(statement), revocation: textOf(revocation) }
  })
  return trustKeys(published)
}

interface Statement {
  readonly text: string
  readonly sha256: string
  readonly fields: SigningKeyStatement
  readonly key: KeyObject
  readonly isSignedBy: (key: KeyObject) => boolean
}

/** Returns an empty list unless `proof` is valid. The previous key's signature is not verified. */
function readStatement(text: string): Statement[] {
  const signed = tryRead(text, SigningKeyStatement)
  if (!signed) return []
  const { fields, isSignedBy } = signed
  const key = readKey(fields)
  const isWhole = fields.key_id === fields.kid || fields.key_id === fields.previous
  if (!key || !isWhole || !verify(null, proofMessage(fields), key, Buffer.from(fields.proof, 'base64'))) return []
  return [{ text, sha256: sha256(text).toString('hex'), fields, key, isSignedBy }]
}

interface Revocation extends NonNullable<ChainKey['revocation']> {
  readonly keyId: string
}

/** Returns an empty list unless a later key signed it. */
function readRevocation(text: string, line: readonly Statement[]): Revocation[] {
  const signed = tryRead(text, KeyRevocation)
  if (!signed) return []
  const { kid, key_id, revoked_at: at, reason } = signed.fields
  const [revoked, signer] = [kid, key_id].map(id => line.findIndex(({ fields }) => fields.kid === id)) as [
    number,
    number,
  ]
  const key = line[signer]?.key
  if (revoked === -1 || signer <= revoked || !key || !signed.isSignedBy(key)) return []
  return [{ keyId: kid, at, isCompromised: reason === 'compromised', text }]
}

/** Sorts a compromise first, then the earlier one. */
function worst(revocations: readonly Revocation[], keyId: string): Revocation | null {
  const own = revocations.filter(revocation => revocation.keyId === keyId)
  const order = own.toSorted(
    (one, other) => Number(other.isCompromised) - Number(one.isCompromised) || (one.at < other.at ? -1 : 1),
  )
  return order[0] ?? null
}

function tryRead<Fields extends SignedFields>(
  text: string,
  schema: { safeParse(value: unknown): { success: boolean; data?: Fields | undefined } },
) {
  try {
    const { document, isSignedBy } = readSigned(Buffer.from(text))
    const { data: fields } = schema.safeParse(document)
    return fields ? { fields, isSignedBy } : null
  } catch (error) {
    if (error instanceof SyntaxError) return null
    throw error
  }
}

function readKey({ kid, x }: { readonly kid: string; readonly x: string }): KeyObject | null {
  const bytes = Buffer.from(x, 'base64url')
  const key = bytes.length === 32 ? publicKeyOf(bytes) : null
  return key && keyIdOf(key) === kid ? key : null
}
