import { existsSync } from 'node:fs'
import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import * as z from 'zod'
import { type AnyErasureReceipt, ErasureReceipt, ErasureReceiptV1 } from '../contract/documents/erasure-receipt.ts'
import { isUuid } from '../contract/uuid.ts'
import { CliError, dataError, exit, usageError } from '../errors/errors.ts'
import { type Claimed, readSigned } from '../evidence/signed.ts'
import { makeFolder, openDraft, partOf, syncFolder } from '../io/new-file.ts'
import { createFile, explainIo, nullIfMissing, type ReceiptStore, sha256 } from './store.ts'

export interface StoredReceipt {
  readonly path: string
  readonly bytes: Buffer
  readonly claimed: Claimed
  readonly receipt: AnyErasureReceipt
}

export function receiptPath({ folder }: Pick<ReceiptStore, 'folder'>, number: number): string {
  return join(folder, `${String(number).padStart(6, '0')}.json`)
}

/** Returns the numbers of the stored receipts, ascending. */
export async function listNumbers({ folder }: Pick<ReceiptStore, 'folder'>): Promise<number[]> {
  const names = await explainIo(`${folder} cannot be read`, () => readdir(folder).catch(nullIfMissing))
  const numbers = (names ?? []).flatMap(name => (/^\d{6,15}\.json$/.test(name) ? [Number.parseInt(name, 10)] : []))
  return numbers.sort((a, b) => a - b)
}

/** @throws CliError invalid_data (exit 5) if it is not an erasure receipt */
export function readReceipt(path: string, bytes: Buffer): StoredReceipt {
  try {
    const claimed = readSigned(bytes)
    const { type } = claimed.document
    if (type !== 'erasure_receipt') throw new SyntaxError(`is not an erasure receipt but of the type "${type}"`)
    return { path, bytes, claimed, receipt: parseReceipt(claimed.document) }
  } catch (error) {
    if (error instanceof SyntaxError) throw dataError(`${path} ${error.message}`)
    throw error
  }
}

function parseReceipt(document: Claimed['document']): AnyErasureReceipt {
  const schema = document.version === 1 ? ErasureReceiptV1 : ErasureReceipt
  const { data, error } = schema.safeParse(document)
  const issue = error?.issues[0]
  if (!data) throw new SyntaxError(`does not match its schema (${issue?.path.join('.') || issue?.message})`)
  if (data.version === 2) return data
  const records = data.records.map(record => ({ ...record, deleted_at_by: null }))
  return { ...data, records, account_id: null, api_key_id: null }
}

export async function loadReceipt(path: string): Promise<StoredReceipt> {
  return readReceipt(path, await readOperand(path))
}

/** Reads a file that the user named. @throws CliError usage (exit 2) if it cannot be read */
export async function readOperand(path: string): Promise<Buffer> {
  return await readFile(path).catch((error: NodeJS.ErrnoException) => {
    throw usageError(error.code === 'ENOENT' ? `there is no file ${path}` : `${path} cannot be read: ${error.code}`)
  })
}

/** Yields the profile's receipts, newest first, and the error of one that cannot be read. */
export async function* allReceipts(store: ReceiptStore): AsyncGenerator<StoredReceipt | CliError> {
  for (const number of (await listNumbers(store)).reverse())
    yield await loadReceipt(receiptPath(store, number)).catch((error: unknown) => {
      if (error instanceof CliError) return error
      throw error
    })
}

/** Returns the receipt of an erasure, not that of its purge. @throws CliError if one that may be it cannot be read */
export async function findReceiptOfJob(store: ReceiptStore, job: string): Promise<StoredReceipt | null> {
  let unread: CliError | null = null
  for await (const found of allReceipts(store)) {
    if (found instanceof CliError) unread ??= found
    else if (found.receipt.job === job && !isOfPurge(found)) return found
  }
  if (unread) throw unread
  return null
}

function isOfPurge({ receipt }: StoredReceipt): boolean {
  return 'purge' in receipt && receipt.purge !== undefined
}

const receiptNumber = /^[1-9]\d{0,14}$/

/** Returns the receipts of a ticket, newest first. @throws CliError if there is none, and one that may be cannot be read */
export async function findReceiptsOfTicket(store: ReceiptStore, ticket: string): Promise<StoredReceipt[]> {
  const all: StoredReceipt[] = []
  let unread: CliError | null = null
  for await (const found of allReceipts(store)) {
    if (found instanceof CliError) unread ??= found
    else if (found.receipt.ticket === ticket) all.push(found)
  }
  if (unread && all.length === 0) throw unread
  return all
}

/** Finds a receipt by its number, its job's id, `last`, or the newest by its ticket. @throws CliError not_found (exit 3) */
export async function findReceipt(store: ReceiptStore, wanted: string): Promise<StoredReceipt> {
  const notFound = (message: string, hint = 'consentctl subject receipts') =>
    new CliError('not_found', exit.notFound, `${message} (profile ${store.profile})`, { hint })
  if (isUuid(wanted)) {
    const found = await findReceiptOfJob(store, wanted.toLowerCase())
    if (found) return found
    throw notFound(`the job ${wanted} has no receipt`, `to finish it: consentctl subject resume ${wanted}`)
  }
  if (wanted !== 'last' && !receiptNumber.test(wanted)) {
    const [newest] = await findReceiptsOfTicket(store, wanted)
    if (newest) return newest
    throw notFound(`no receipt has the ticket ${wanted}`)
  }
  const numbers = await listNumbers(store)
  const number = wanted === 'last' ? numbers.at(-1) : Number(wanted)
  if (number === undefined) throw notFound('the profile has no receipts')
  if (!numbers.includes(number)) throw notFound(`the profile has no receipt ${number}`)
  return await loadReceipt(receiptPath(store, number))
}

/** Finds a receipt as `findReceipt` does, or reads a file; a name that is no file is a ticket. */
export async function findReceiptOrFile(store: ReceiptStore, wanted: string): Promise<StoredReceipt> {
  const isStored = wanted === 'last' || /^[1-9]\d*$/.test(wanted) || isUuid(wanted)
  if (isStored) return await findReceipt(store, wanted)
  return await loadReceipt(wanted).catch(async (error: unknown) => {
    const [newest] = existsSync(wanted) ? [] : await findReceiptsOfTicket(store, wanted).catch(() => [])
    if (newest) return newest
    throw error
  })
}

/**
 * Appends a receipt to the chain. link(2) takes its name: of two processes the second makes its receipt anew behind the
 * first one's, so the chain never forks. @throws CliError invalid_data (exit 5) if the newest receipt is missing: its
 * number is not reused
 */
export async function appendReceipt(
  store: ReceiptStore,
  job: string,
  make: (number: number, previous: ErasureReceipt['previous']) => string,
): Promise<StoredReceipt> {
  const { folder } = store
  return await explainIo(`${folder} cannot be written`, async () => {
    await makeFolder(folder)
    await requireHead(store)
    for (;;) {
      const last = (await listNumbers(store)).at(-1) ?? 0
      const previous = last === 0 ? null : { number: last, sha256: sha256(await readFile(receiptPath(store, last))) }
      const text = make(last + 1, previous)
      const path = receiptPath(store, last + 1)
      // Checked before, because the chain keeps it forever.
      const made = readReceipt(`receipt ${last + 1}`, Buffer.from(text))
      if (!(await createFile(path, join(folder, `${job}.draft`), text))) continue
      await syncFolder(dirname(folder))
      await writeHead(store, { number: last + 1, sha256: sha256(text) })
      return { ...made, path }
    }
  })
}

/** Checks that a receipt can be appended, before anything needs one. @throws as `appendReceipt` */
export async function requireAppendable(store: ReceiptStore): Promise<void> {
  const { folder } = store
  await explainIo(`${folder} cannot be written`, async () => {
    await makeFolder(folder)
    await requireHead(store)
    const draft = await openDraft(partOf(join(folder, 'probe')))
    await draft.file.close()
    await draft.remove()
  })
}

/** The newest receipt of a profile, and the SHA-256 of its file. */
const ChainHead = z.strictObject({ number: z.int().min(1), sha256: z.string().regex(/^[\da-f]{64}$/) })
export type ChainHead = z.output<typeof ChainHead>

/** Returns null if nothing is known. Written after the receipt, so it may be behind. */
export async function readHead(store: ReceiptStore): Promise<ChainHead | null> {
  const { headFile } = store
  const text = await explainIo(`${headFile} cannot be read`, () => readFile(headFile, 'utf8').catch(nullIfMissing))
  if (text === null) return null
  try {
    return ChainHead.parse(JSON.parse(text))
  } catch {
    throw dataError(`${headFile} is damaged`, restoreHint(store))
  }
}

/** Keeps a later head. Only warns if it fails, because the receipt exists. */
export async function writeHead(store: ReceiptStore, head: ChainHead): Promise<void> {
  const { headFile } = store
  const part = partOf(headFile)
  try {
    if (((await readHead(store))?.number ?? 0) >= head.number) return
    await writeFile(part, `${JSON.stringify(head)}\n`, { mode: 0o600, flush: true })
    await rename(part, headFile)
    await syncFolder(dirname(headFile))
  } catch (error) {
    await rm(part, { force: true }).catch(() => {})
    const reason = (error as Error).message
    await store.warn(`warning: the loss of receipt ${head.number} would not be noticed: ${reason}`)
  }
}

/** Returns how a chain contradicts its head, or null. `digest` is that of the receipt's file, null if missing. */
export function findHeadFault(head: ChainHead, digest: string | null): string | null {
  if (digest === null) return `receipt ${head.number} is missing`
  return digest === head.sha256 ? null : `receipt ${head.number} is not the one that was made`
}

/** @throws CliError invalid_data (exit 5) if the newest receipt is missing or changed */
async function requireHead(store: ReceiptStore): Promise<void> {
  const head = await readHead(store)
  if (head === null) return
  const bytes = await readFile(receiptPath(store, head.number)).catch(nullIfMissing)
  const fault = findHeadFault(head, bytes && sha256(bytes))
  if (fault) throw dataError(fault, restoreHint(store))
}

function restoreHint({ headFile }: ReceiptStore): string {
  return `restore the receipts from a backup; if they are lost, move ${headFile} away`
}
