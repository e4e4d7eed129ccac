import type { KeyObject } from 'node:crypto'
import { formatCount } from '../cli/messages.ts'
import type { Context } from '../context.ts'
import { description } from '../contract/description.ts'
import { type DocumentQuery, documentLimit, documents, type KeptDocument } from '../contract/subject-documents.ts'
import { CliError, dataError, type Exit, exit, usageError } from '../errors/errors.ts'
import { exitOf, explain } from '../errors/explain.ts'
import { keyIdOf, publicPem, readPublicKey } from '../evidence/keys.ts'
import { findReceiptKey, identify, type ReceiptKey } from '../receipts/signer.ts'
import { listNumbers, type ReceiptStore, receiptPath, sha256 } from '../receipts/store.ts'
import { requireApiKey, requireBaseUrl } from '../settings/settings.ts'
import {
  allReceipts,
  findMatching,
  findReceipt,
  isPurge,
  loadReceipt,
  NoSuchReceipt,
  readReceipt,
  type StoredReceipt,
} from './receipts.ts'

/** A document that the service keeps, with the key that verifies it. */
interface KeptReceipt extends StoredReceipt {
  readonly known: KnownKey
}

export interface KnownKey {
  readonly key: KeyObject
  /** When the service kept the first document of this key. */
  readonly since: string
}

/** Without retries, because local documents can be read without the service. */
const probeTimeoutMs = 5000

/** True if the service keeps documents, and can be asked now. Warns if it cannot be reached. */
export async function asksForKept(ctx: Context): Promise<boolean> {
  try {
    requireBaseUrl(ctx.settings)
    requireApiKey(ctx.settings)
  } catch {
    return false
  }
  try {
    await ctx.api.probe(description.get.path, probeTimeoutMs)
    return await ctx.api.supports(documents.list)
  } catch (error) {
    if (isEnded(error)) throw error
    await ctx.warn(`only the records of this machine are read: ${explain(error).message}`)
    return false
  }
}

/** Newest first. An item is an error if the document does not verify by its key. */
async function* listKept(
  { api }: Pick<Context, 'api'>,
  query: Omit<DocumentQuery, 'cursor'>,
): AsyncGenerator<KeptReceipt | CliError> {
  let cursor: string | undefined
  do {
    const page = await api.call(documents.list, { query: { limit: 100, ...query, ...(cursor && { cursor }) } })
    for (const each of page.data) yield readDocument(each)
    if (page.next_cursor !== null && page.next_cursor === cursor)
      throw new CliError('unexpected_answer', exit.rejected, 'the service repeats a page of its documents')
    cursor = page.next_cursor ?? undefined
  } while (cursor !== undefined)
}

function readDocument({
  document,
  sha256: digest,
  public_key,
  key_known_since: since,
}: KeptDocument): KeptReceipt | CliError {
  const name = `the kept document ${digest.slice(0, 12)}`
  try {
    const bytes = Buffer.from(document)
    const stored = readReceipt(name, bytes)
    const key = readPublicKey(public_key)
    if (sha256(bytes) !== digest) return dataError(`${name} has another SHA-256`)
    if (keyIdOf(key) !== stored.receipt.key_id || !stored.claimed.isSignedBy(key))
      return dataError(`the signature of ${name} is invalid`)
    return { ...stored, known: { key, since } }
  } catch (error) {
    return error instanceof CliError ? error : dataError(`${name} has an unreadable public key`)
  }
}

/** Of the profile, or kept by the service. */
export type AnyReceipt = StoredReceipt & Partial<Pick<KeptReceipt, 'known'>>

export interface Kept {
  readonly all: readonly (KeptReceipt | CliError)[]
  readonly byDigest: ReadonlyMap<string, KeptReceipt>
}

export async function readKept(ctx: Pick<Context, 'api'>, query: Omit<DocumentQuery, 'cursor'>): Promise<Kept> {
  const all: (KeptReceipt | CliError)[] = []
  for await (const found of listKept(ctx, query)) all.push(found)
  return { all, byDigest: new Map(all.flatMap(found => ('bytes' in found ? [[sha256(found.bytes), found]] : []))) }
}

/**
 * Those of the profile, newest first, then those that only the service has. Those of the profile come with the key that
 * the service knows, because the profile may have lost its own.
 */
export async function* everyReceipt(
  store: ReceiptStore,
  kept: Kept | null,
): AsyncGenerator<{ readonly found: AnyReceipt | CliError; readonly isLocal: boolean }> {
  const local = new Set<string>()
  for await (const found of allReceipts(store)) {
    const digest = 'bytes' in found ? sha256(found.bytes) : ''
    local.add(digest)
    const known = kept?.byDigest.get(digest)?.known
    yield { found: known && 'bytes' in found ? { ...found, known } : found, isLocal: true }
  }
  for (const found of kept?.all ?? [])
    if (!('bytes' in found) || !local.has(sha256(found.bytes))) yield { found, isLocal: false }
}

/** The key of another profile as the service knows it; null if it keeps no document that was signed with it. */
export async function findKnownKey(ctx: Context, keyId: string): Promise<KnownKey | null> {
  if (!(await asksForKept(ctx))) return null
  const page = await unlessForbidden(ctx, () => ctx.api.call(documents.list, { query: { key_id: keyId, limit: 1 } }))
  const found = page?.data.map(readDocument)[0]
  return found && 'known' in found ? found.known : null
}

/**
 * Like `find`, then by the first digits of a SHA-256, then by ticket or SHA-256 among the documents that the service
 * keeps.
 */
export async function findAnywhere(
  ctx: Context,
  store: ReceiptStore,
  wanted: string,
  find: (store: ReceiptStore, wanted: string) => Promise<StoredReceipt> = findReceipt,
): Promise<AnyReceipt> {
  try {
    return await find(store, wanted)
  } catch (error) {
    const isUnfound = error instanceof NoSuchReceipt || (error instanceof CliError && error.exit === exit.notFound)
    const found = isUnfound ? await findElsewhere(ctx, store, wanted) : undefined
    if (found) return found
    throw error
  }
}

async function findElsewhere(ctx: Context, store: ReceiptStore, wanted: string): Promise<AnyReceipt | undefined> {
  const isDigest = /^[\da-f]{8,64}$/.test(wanted)
  const [local] = isDigest ? await findMatching(store, ({ bytes }) => sha256(bytes).startsWith(wanted)) : []
  if (local) return local
  if (wanted === 'last' || wanted.length > 100 || !(await asksForKept(ctx))) return undefined
  return await unlessForbidden(ctx, async () => {
    const found = isDigest ? await findKept(ctx, { sha256: wanted }) : undefined
    return found ?? (await findKept(ctx, { ticket: wanted }))
  })
}

/** Warns if the key may not read kept records. */
async function unlessForbidden<T>({ warn }: Pick<Context, 'warn'>, work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work()
  } catch (error) {
    const { code, message } = explain(error)
    if (code !== 'forbidden') throw error
    await warn(`only the records of this machine are read: ${message}`)
    return undefined
  }
}

/** @throws CliError usage (exit 2) for a ticket with several documents, or digits that begin several digests */
async function findKept(ctx: Context, query: DocumentQuery): Promise<KeptReceipt | undefined> {
  const all = (await readKept(ctx, query)).all.map(found => {
    if (found instanceof CliError) throw found
    return found
  })
  const others = query.sha256 ? all : all.filter(each => !isPurge(each))
  if (others.length < 2) return all[0]
  const digests = others.slice(0, 5).map(({ bytes }) => sha256(bytes).slice(0, 12))
  throw usageError(
    `the service keeps ${others.length} such records`,
    `name one by its SHA-256: ${digests.join(', ')}${others.length > 5 ? ', …' : ''}`,
  )
}

/**
 * Sends the documents of the profile that the service does not keep yet, in the order of their numbers, so that the
 * newest kept one shows what is missing, also after the restore of a backup. A failure is a warning.
 */
export async function sendUnkept(ctx: Context, store: ReceiptStore): Promise<void> {
  let unsent = 0
  try {
    const key = await findReceiptKey(store)
    if (!key || !(await ctx.api.supports(documents.keep))) return
    const { account_id, site_ids } = await identify(ctx.api)
    if (site_ids !== null) return
    const pending = await listPending(ctx, store, key, account_id)
    unsent = pending.length
    for (const stored of pending) {
      await send(ctx, stored, publicPem(key.key))
      unsent -= 1
    }
  } catch (error) {
    if (isEnded(error)) throw error
    if (explain(error).code === 'forbidden' && unsent === 0) return
    const what = unsent > 0 ? formatCount(unsent, 'erasure or withdrawal record') : 'the newest records'
    await ctx.warn(
      `${what} may be on this machine only: ${explain(error).message}; the next consentctl subject receipts sends them`,
    )
  }
}

/** One that the service rejects does not block those after it. */
async function send(ctx: Context, { bytes, receipt }: StoredReceipt, public_key: string): Promise<void> {
  const body = { document: bytes.toString('latin1'), public_key }
  try {
    await ctx.api.call(documents.keep, { body, isIdempotent: true })
  } catch (error) {
    const { code } = explain(error)
    const isOfDocument = code === 'forbidden' || (exitOf(error) === exit.rejected && code !== 'unexpected_answer')
    if (!isOfDocument) throw error
    await ctx.warn(`receipt ${receipt.number} is on this machine only: ${explain(error).message}`)
  }
}

async function listPending(
  ctx: Context,
  store: ReceiptStore,
  key: ReceiptKey,
  account_id: string | null,
): Promise<StoredReceipt[]> {
  const { data } = await ctx.api.call(documents.list, { query: { key_id: key.id, limit: 1 } })
  const newest = data[0] ? readReceipt('the newest kept document', Buffer.from(data[0].document)).receipt.number : 0
  const pending: StoredReceipt[] = []
  for (const number of (await listNumbers(store)).filter(each => each > newest)) {
    const stored = await loadReceipt(receiptPath(store, number)).catch(() => null) // reported where it is read
    if (stored?.receipt.account_id === account_id && isKeepable(stored, key)) pending.push(stored)
  }
  return pending
}

/** A document that shows the identifiers in clear text stays on the machine. */
function isKeepable({ receipt, bytes }: StoredReceipt, { id }: ReceiptKey): boolean {
  return (
    receipt.key_id === id &&
    receipt.hmac_key === 'account' &&
    receipt.subjects === null &&
    bytes.length <= documentLimit
  )
}

function isEnded(error: unknown): boolean {
  const code: Exit = exitOf(error)
  return code === exit.interrupted || code === exit.terminated
}
