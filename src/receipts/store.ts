import { createHash } from 'node:crypto'
import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import * as z from 'zod'
import type { Context } from '../context.ts'
import { CliError, dataError, exit } from '../errors/errors.ts'
import { isTaken, makeFolder, openDraft, partOf, syncFolder } from '../io/new-file.ts'

export interface ReceiptStore {
  readonly profile: string
  readonly keyFile: string
  /** Newest number and digest, beside the key: anyone who can change it there could also sign. */
  readonly headFile: string
  readonly folder: string
  warn(line: string): Promise<void>
}

export function locateReceipts({ settings, warn }: Pick<Context, 'settings' | 'warn'>): ReceiptStore {
  const profile = settings.profile.value
  const name = toFileName(profile)
  return {
    profile,
    keyFile: join(settings.folder, 'receipt-keys', `${name}.pem`),
    headFile: join(settings.folder, 'receipt-keys', `${name}.head`),
    folder: join(settings.stateFolder, 'receipts', name),
    warn,
  }
}

/** A separate chain with the same key. */
export function locateImportReceipts(ctx: Pick<Context, 'settings' | 'warn'>): ReceiptStore {
  const { settings } = ctx
  const name = toFileName(settings.profile.value)
  return {
    ...locateReceipts(ctx),
    headFile: join(settings.folder, 'receipt-keys', `_imports-${name}.head`), // profile names never begin with _
    folder: join(settings.stateFolder, 'import-receipts', name),
  }
}

/** SHA-256 of names that could lead out of the folder or are too long. */
export function toFileName(profile: string): string {
  const isSafe = /^[\p{L}\p{N}][\p{L}\p{M}\p{N}._@-]*$/u.test(profile) && Buffer.byteLength(profile) <= 200
  return isSafe ? profile : `~${sha256(profile)}`
}

/** Atomic and durable; false if the name is taken. `part` is temporary: a killed process's file is replaced. */
export async function createFile(path: string, part: string, content: string): Promise<boolean> {
  const draft = await openDraft(part)
  try {
    await draft.file.writeFile(content)
    await draft.take(path)
    return true
  } catch (error) {
    if (isTaken(error)) return false
    throw error
  } finally {
    await draft.file.close()
    await draft.remove()
  }
}

export function nullIfMissing(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null
  throw error
}

/** @throws CliError io (exit 1) */
export async function explainIo<T>(message: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof CliError) throw error
    const { code, message: reason } = error as NodeJS.ErrnoException
    throw new CliError('io', exit.failure, `${message}: ${code ?? reason}`, {
      hint: 'check the owner of the folder and the free space',
      cause: error,
    })
  }
}

export function sha256(data: string | Uint8Array): string {
  return createHash('sha256').update(data).digest('hex')
}

export function receiptPath({ folder }: Pick<ReceiptStore, 'folder'>, number: number): string {
  return join(folder, `${String(number).padStart(6, '0')}.json`)
}

export async function listNumbers({ folder }: Pick<ReceiptStore, 'folder'>): Promise<number[]> {
  const names = await explainIo(`${folder} cannot be read`, () => readdir(folder).catch(nullIfMissing))
  const numbers = (names ?? []).flatMap(name => (/^\d{6,15}\.json$/.test(name) ? [Number.parseInt(name, 10)] : []))
  return numbers.sort((a, b) => a - b)
}

type Previous = { number: number; sha256: string } | null

interface NewReceipt<Stored> {
  readonly job: string
  /** Returns the signed text. */
  make(number: number, previous: Previous): string
  /** @throws CliError if the text is not a receipt */
  read(name: string, bytes: Buffer): Stored
}

/**
 * link(2) claims the name: the second of two processes makes its receipt again, so the chain never forks.
 * @throws CliError invalid_data (exit 5) if the newest receipt is missing: its number is not reused
 */
export async function appendToChain<Stored>(
  store: ReceiptStore,
  { job, make, read }: NewReceipt<Stored>,
): Promise<Stored & { readonly path: string }> {
  const { folder } = store
  return await explainIo(`${folder} cannot be written`, async () => {
    await requireHead(store)
    for (;;) {
      const last = (await listNumbers(store)).at(-1) ?? 0
      const previous: Previous =
        last === 0 ? null : { number: last, sha256: sha256(await readFile(receiptPath(store, last))) }
      const text = make(last + 1, previous)
      const path = receiptPath(store, last + 1)
      // Before writing: the chain is append-only.
      const made = read(`receipt ${last + 1}`, Buffer.from(text))
      await makeFolder(folder)
      if (!(await createFile(path, join(folder, `${job}.draft`), text))) continue
      await syncFolder(dirname(folder))
      await writeHead(store, { number: last + 1, sha256: sha256(text) })
      return { ...made, path }
    }
  })
}

/** @throws CliError like `appendToChain` */
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

/** Number and digest of the newest receipt. */
const ChainHead = z.strictObject({ number: z.int().min(1), sha256: z.string().regex(/^[\da-f]{64}$/) })
export type ChainHead = z.output<typeof ChainHead>

/** Null without a head. Written after the receipt, so it may be behind. */
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

/** Never replaces a later head. Failure only warns: the receipt exists. */
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

export function findHeadFault(head: ChainHead, digest: string | null): string | null {
  if (digest === null) return `receipt ${head.number} is missing`
  return digest === head.sha256 ? null : `receipt ${head.number} is not the one that was made`
}

/** @throws CliError invalid_data (exit 5) */
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
