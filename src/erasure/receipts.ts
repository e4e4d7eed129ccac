import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Context } from '../context.ts'
import { ErasureReceipt } from '../contract/documents/erasure-receipt.ts'
import { CliError, dataError, usageError } from '../errors/errors.ts'
import { type Claimed, readSigned } from '../evidence/signed.ts'
import { makeFolder, openDraft, partOf, syncFolder } from '../io/new-file.ts'
import { headFault, keepHead, readHead, wayOut } from './head.ts'
import { fileNameOf, local, makeFile, noneWhereMissing } from './place.ts'

/** A receipt as it lies on the disk. */
export interface StoredReceipt {
  readonly path: string
  readonly bytes: Buffer
  readonly claimed: Claimed
  readonly receipt: ErasureReceipt
}

export type Previous = ErasureReceipt['previous']

/** Where the receipts of the profile are. */
export function receiptsFolder({ settings }: Pick<Context, 'settings'>): string {
  return join(settings.stateFolder, 'receipts', fileNameOf(settings.profile.value))
}

export function pathOf(folder: string, number: number): string {
  return join(folder, `${String(number).padStart(6, '0')}.json`)
}

/** The numbers of the receipts that are there, ascending. */
export async function numbersIn(folder: string): Promise<number[]> {
  const names = await local(`${folder} cannot be read`, () => readdir(folder).catch(noneWhereMissing))
  const numbers = (names ?? []).flatMap(name =>
    /^\d{6,15}\.json$/.test(name) ? [Number.parseInt(name, 10)] : [],
  )
  return numbers.sort((a, b) => a - b)
}

/** Reads what should be a receipt. Throws a data error for what is none. */
export function readReceipt(path: string, bytes: Buffer): StoredReceipt {
  try {
    const claimed = readSigned(bytes)
    const { type } = claimed.document
    if (type !== 'erasure_receipt') throw new SyntaxError(`is no erasure receipt, but says it is "${type}"`)
    const parsed = ErasureReceipt.safeParse(claimed.document)
    if (parsed.success) return { path, bytes, claimed, receipt: parsed.data }
    const issue = parsed.error.issues[0]
    throw new SyntaxError(`is not as its schema says (${issue?.path.join('.') || issue?.message})`)
  } catch (error) {
    if (error instanceof SyntaxError) throw dataError(`${path} ${error.message}`)
    throw error
  }
}

export async function loadReceipt(path: string): Promise<StoredReceipt> {
  const bytes = await readFile(path).catch((error: NodeJS.ErrnoException) => {
    throw usageError(
      error.code === 'ENOENT' ? `there is no file ${path}` : `${path} cannot be read: ${error.code}`,
    )
  })
  return readReceipt(path, bytes)
}

/** The receipts of the profile, newest first; in place of one that cannot be read, why. */
export async function* allReceipts(folder: string): AsyncGenerator<StoredReceipt | CliError> {
  for (const number of (await numbersIn(folder)).reverse())
    yield await loadReceipt(pathOf(folder, number)).catch((error: unknown) => {
      if (error instanceof CliError) return error
      throw error
    })
}

/** The receipt of a job; null where it has none. Throws where one cannot be read that may be its own. */
export async function receiptOfJob(folder: string, job: string): Promise<StoredReceipt | null> {
  let unread: CliError | null = null
  for await (const found of allReceipts(folder)) {
    if (found instanceof CliError) unread ??= found
    else if (found.receipt.job === job) return found
  }
  if (unread) throw unread
  return null
}

/**
 * Adds a receipt behind the last one. Its name is taken by link(2), so that of two processes the second finds it taken
 * and makes its receipt anew, behind the first one's; the chain never forks. Throws where the newest one that was made
 * here is not there: its number is not given to another.
 */
export async function appendReceipt(
  ctx: Pick<Context, 'settings' | 'warn'>,
  job: string,
  make: (number: number, previous: Previous) => string,
): Promise<StoredReceipt> {
  const folder = receiptsFolder(ctx)
  return await local(`${folder} cannot be written`, async () => {
    await makeFolder(folder)
    await requireHead(ctx)
    for (;;) {
      const last = (await numbersIn(folder)).at(-1) ?? 0
      const previous =
        last === 0 ? null : { number: last, sha256: sha256(await readFile(pathOf(folder, last))) }
      const text = make(last + 1, previous)
      const path = pathOf(folder, last + 1)
      // What is in the chain once stays there: it must be a receipt before.
      const made = readReceipt(`receipt ${last + 1}`, Buffer.from(text))
      if (!(await makeFile(path, join(folder, `${job}.draft`), text))) continue
      await syncFolder(join(folder, '..'))
      await keepHead(ctx, { number: last + 1, sha256: sha256(text) })
      return { ...made, path }
    }
  })
}

/** Makes sure that a receipt can be added, before anything is done that needs one. Throws what `appendReceipt` would. */
export async function probeReceipts(ctx: Pick<Context, 'settings'>): Promise<void> {
  const folder = receiptsFolder(ctx)
  await local(`${folder} cannot be written`, async () => {
    await makeFolder(folder)
    await requireHead(ctx)
    const draft = await openDraft(partOf(join(folder, 'probe')))
    await draft.file.close()
    await draft.remove()
  })
}

/** Throws where the newest receipt that was made here is not there as it was (exit 5). */
async function requireHead(ctx: Pick<Context, 'settings'>): Promise<void> {
  const head = await readHead(ctx)
  if (head === null) return
  const bytes = await readFile(pathOf(receiptsFolder(ctx), head.number)).catch(noneWhereMissing)
  const fault = headFault(head, bytes && sha256(bytes))
  if (fault) throw dataError(fault, wayOut(ctx))
}

export function sha256(data: string | Uint8Array): string {
  return createHash('sha256').update(data).digest('hex')
}
