import { createPublicKey, type KeyObject, sign, verify } from 'node:crypto'
import type { Sql } from 'postgres'
import type * as z from 'zod'
import type { KeyRevocation, SigningKeyStatement } from '../../src/contract/documents/signing-key.ts'
import { OperatorError } from '../../src/contract/index.ts'
import type { SigningKey } from '../../src/contract/signing-keys.ts'
import { sha256 } from '../../src/evidence/bytes.ts'
import {
  type ChainKey,
  type KeyChain,
  listIntroduced,
  proofMessage,
  readKeyChain,
} from '../../src/evidence/key-chain.ts'
import { keyIdOf, publicBytes, publicPem, signingKeyOf } from '../../src/evidence/keys.ts'
import { type SignedFields, toMessage, withSignature } from '../../src/evidence/signed.ts'
import { Cache } from '../cache.ts'
import type { Config } from '../config.ts'
import { findSecret, sharedSecret } from '../db/secrets.ts'
import { unavailable } from '../failure.ts'
import { hasCheckpoint, insertKeyStatement, isKeyElsewhere, listKeyStatements, readDatabaseTime } from './queries.ts'
import { runSigningCommand } from './signing-command.ts'

export interface Signer {
  /** RFC 7638 thumbprint. */
  readonly keyId: string
  readonly publicKey: KeyObject
  /** @throws Failure `unavailable` if the key was revoked, or no valid signature arrives in time */
  sign(document: Omit<SignedFields, 'key_id'> & object, timeoutMs?: number): Promise<string>
  /** Returns the 64 bytes of an Ed25519 signature. @throws Failure `unavailable` */
  signBytes(message: Buffer, timeoutMs?: number): Promise<Buffer>
  /** Call it before work that needs a signature. @throws Failure `unavailable` if signing does not work */
  requireReady(timeoutMs?: number): Promise<void>
}

/** Less than a request's deadline. */
const commandTimeoutMs = 4000

/** Every document begins with a brace. */
const probe = Buffer.from('consentctl asks if this key can sign\n')

interface SignerOptions {
  readonly command?: string | null
  /** Default: the key is not checked. */
  readonly findKey?: () => Promise<ChainKey | undefined>
}

/**
 * Signs with a private key, or for a public one with the operator's command, which reads the message from standard
 * input and writes the 64 bytes of the signature.
 */
export function signerOf(key: KeyObject, { command = null, findKey }: SignerOptions = {}): Signer {
  const keyId = keyIdOf(key)
  const publicKey = key.type === 'private' ? createPublicKey(key) : key
  const keys = new Cache<ChainKey>()
  const probes = new Cache<Buffer>()
  const requireValid = async () => {
    if (!findKey) return
    const problem = findSigningProblem(await keys.get(keyId, findKey))
    if (problem) throw unavailable(`The document cannot be signed: the key ${keyId} of this node ${problem}.`)
  }
  const signBytes = async (message: Buffer, timeoutMs = commandTimeoutMs) => {
    await requireValid()
    const run = () =>
      runSigningCommand(command ?? '', { message, keyId, timeoutMs: Math.min(timeoutMs, commandTimeoutMs) })
    const signature = key.type === 'private' ? sign(null, message, key) : await run().catch(notSigned)
    if (signature.length === 64 && verify(null, message, publicKey, signature)) return signature
    return notSigned(new Error(`wrote ${signature.length} bytes that are not a signature by the key ${keyId}`))
  }
  return {
    keyId,
    publicKey,
    signBytes,
    sign: async (document, timeoutMs) => {
      const message = toMessage({ ...document, key_id: keyId })
      return withSignature(message, await signBytes(Buffer.from(message), timeoutMs))
    },
    requireReady: async timeoutMs => {
      await requireValid()
      await probes.get(keyId, () => signBytes(probe, timeoutMs))
    },
  }
}

/** Completes "the key …". */
function findSigningProblem(key: ChainKey | undefined): string | null {
  if (!key) return 'is not in the log of keys'
  return key.revocation && `was revoked at ${key.revocation.at}`
}

function notSigned(error: Error): never {
  throw unavailable(`The document cannot be signed at the moment: SIGNING_COMMAND ${error.message}.`, error)
}

export interface SigningSettings {
  /** Private keys, or public ones for the command. The newest can introduce the signing key. */
  readonly earlier?: readonly KeyObject[]
  readonly command?: string | null
  /** Id of the newest key, which is lost: a new key may follow it without its signature. */
  readonly lost?: string | null
}

export function signingSettings(config: Pick<Config, 'earlierSigningKeys' | 'signingCommand'>): SigningSettings {
  return { earlier: config.earlierSigningKeys, command: config.signingCommand }
}

/**
 * Opens the operator's key, else the database's. The chain's newest key introduces a new one.
 * @throws OperatorError if no key of the chain is available or can introduce the key, or if it was revoked
 */
export async function openSigner(
  sql: Sql,
  ownKey: KeyObject | null,
  { earlier = [], command = null, lost = null }: SigningSettings = {},
): Promise<Signer> {
  if (!ownKey && (await isKeyElsewhere(sql))) {
    throw new OperatorError('this service signs with a key that is not in the database', {
      code: 'settings',
      hint: 'set SIGNING_KEY_FILE to its file, as on every other node',
    })
  }
  const seed = ownKey ? await findSecret(sql, 'signing') : await sharedSecret(sql, 'signing')
  const stored = seed ? [signingKeyOf(seed)] : []
  const key = ownKey ?? (stored[0] as KeyObject)
  const signer = signerOf(key, { command })
  const introducers = [...earlier, ...stored].map(each => signerOf(each, { command }))
  const { keys } = await joinChain(sql, signer, { introducers, lost })
  const problem = findSigningProblem(keys.get(signer.keyId))
  if (problem) {
    throw new OperatorError(`the signing key ${signer.keyId} ${problem}`, {
      code: 'settings',
      hint: 'set SIGNING_KEY_FILE to the file of the newest key, as on every other node',
    })
  }
  const findKey = async () => (await readKeys(sql, signer.keyId)).keys.get(signer.keyId)
  return signerOf(key, { command, findKey })
}

async function joinChain(
  sql: Sql,
  signer: Signer,
  { introducers, lost }: { readonly introducers: readonly Signer[]; readonly lost: string | null },
): Promise<KeyChain> {
  for (let isAppended = false; ; ) {
    const rows = await listKeyStatements(sql)
    const documents = rows.map(({ document }) => document)
    const chain = readKeyChain(documents, signer.keyId)
    if (chain.newest !== null) return chain
    if (isAppended)
      throw new OperatorError(`the log of keys rejects the signing key ${signer.keyId}`, {
        hint: 'see consentctl admin verify',
      })
    const introducer = introducers.find(({ keyId }) => readKeyChain(documents, keyId).newest === keyId)
    const isFirst = documents.length === 0 && !(await hasCheckpoint(sql))
    if (lost === null && !introducer && !isFirst) throw notIntroduced(signer)
    const order =
      lost === null
        ? { before: findNewest(documents, introducer?.keyId), by: introducer ?? signer }
        : { before: findNewest(documents, requireNewest(documents, lost)), by: signer }
    const document = await introduce(sql, signer, order)
    isAppended = await insertKeyStatement(sql, rows, document)
  }
}

function findNewest(documents: readonly string[], keyId: string | undefined): ChainKey | undefined {
  return keyId === undefined ? undefined : readKeyChain(documents, keyId).keys.get(keyId)
}

function notIntroduced(signer: Signer): OperatorError {
  return new OperatorError(`no key of this service introduces the signing key ${signer.keyId}`, {
    code: 'settings',
    hint: 'append the previous key to the file in SIGNING_KEY_FILE; if it is lost: consentctl admin signing-key restart KEY-ID',
  })
}

/**
 * Anyone who can write to the database can add keys that claim to follow the lost one: a new key must not confirm these.
 * @throws OperatorError unless the key is the newest of the log, and every document of it belongs to the key's chain
 */
function requireNewest(documents: readonly string[], keyId: string): string {
  const { newest, documents: own } = readKeyChain(documents, keyId)
  if (newest === null)
    throw new OperatorError(`the log of keys has no key ${keyId}`, { code: 'not_found', hint: giveNewest })
  if (newest === keyId && own.length === documents.length) return keyId
  throw new OperatorError(
    newest === keyId
      ? `the log of keys has documents that do not belong to the chain of the key ${keyId}`
      : `the key ${keyId} is not the newest: that is ${newest}`,
    {
      code: 'settings',
      hint: `${giveNewest}; if it is that, the database was changed: restore a backup of key_statements`,
    },
  )
}

const giveNewest = 'give the key_id of the newest documents that you have'

/** Validity begins earlier than a key's statement by more than nodes' clocks differ. */
const keyMarginMs = 60_000

async function introduce(
  sql: Sql,
  signer: Signer,
  { before, by }: { readonly before: ChainKey | undefined; readonly by: Signer },
): Promise<string> {
  const now = await readDatabaseTime(sql)
  const statement: Omit<SigningKeyStatement, 'proof'> = {
    type: 'signing_key',
    version: 1,
    kid: signer.keyId,
    x: publicBytes(signer.publicKey).toString('base64url'),
    not_before: new Date(now.getTime() - keyMarginMs).toISOString(),
    previous: before?.keyId ?? null,
    previous_sha256: before ? sha256(before.statement).toString('hex') : null,
    key_id: by.keyId,
  }
  const proof = await signer.signBytes(proofMessage(statement))
  const { key_id: _, ...fields } = { ...statement, proof: proof.toString('base64') }
  return await by.sign(fields)
}

/** @throws OperatorError unless the signer's key came later: the holder of a stolen key must not revoke later keys */
export async function revokeKey(
  sql: Sql,
  signer: Signer,
  { keyId, reason }: { keyId: string; reason: KeyRevocation['reason'] },
): Promise<string> {
  const at = await readDatabaseTime(sql)
  const fields = { type: 'key_revocation', version: 1, kid: keyId, revoked_at: at.toISOString(), reason } as const
  const document = await signer.sign(fields satisfies Omit<KeyRevocation, 'key_id'>)
  for (;;) {
    const rows = await listKeyStatements(sql)
    const documents = rows.map(row => row.document)
    if (documents.includes(document)) return document
    if (!readKeyChain([...documents, document], signer.keyId).documents.includes(document)) {
      throw new OperatorError(`the key ${keyId} does not precede the signing key ${signer.keyId}`, {
        code: 'not_found',
        hint: 'the newest key revokes: start the service with a new one first',
      })
    }
    await insertKeyStatement(sql, rows, document)
  }
}

interface Published extends KeyChain {
  /** Positions of documents outside the key chain. */
  readonly foreign: readonly number[]
}

/** Returns the anchor first, then the newest. */
export async function readKeys(sql: Sql, anchor: string): Promise<Published> {
  const statements = await listKeyStatements(sql)
  const chain = readKeyChain(
    statements.map(({ document }) => document),
    anchor,
  )
  const newestFirst = [...chain.keys].reverse()
  return {
    ...chain,
    keys: new Map([...newestFirst.filter(([keyId]) => keyId === anchor), ...newestFirst]),
    foreign: statements.filter(({ document }) => !chain.documents.includes(document)).map(({ position }) => position),
  }
}

/** Returns the keys that chain to `trusted`, else to the database's own, else to the first. */
export async function readKeysToVerify(sql: Sql, trusted: string | null): Promise<Published> {
  const seed = await findSecret(sql, 'signing')
  const statements = await listKeyStatements(sql)
  const [first = ''] = listIntroduced(statements.map(({ document }) => document))
  return await readKeys(sql, trusted ?? (seed ? keyIdOf(signingKeyOf(seed)) : first))
}

/** Returns the published keys, starting with `keyId`. */
export async function listKeys(sql: Sql, keyId: string): Promise<z.output<typeof SigningKey>[]> {
  return [...(await readKeys(sql, keyId)).keys.values()].map(toJwk)
}

function toJwk({ keyId, publicKey, statement, revocation }: ChainKey) {
  return {
    kty: 'OKP' as const,
    crv: 'Ed25519' as const,
    x: publicBytes(publicKey).toString('base64url'),
    kid: keyId,
    use: 'sig' as const,
    alg: 'EdDSA' as const,
    pem: publicPem(publicKey),
    statement,
    revocation: revocation?.text ?? null,
  }
}
