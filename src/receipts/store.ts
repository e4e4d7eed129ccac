import { createHash } from 'node:crypto'
import { join } from 'node:path'
import type { Context } from '../context.ts'
import { CliError, exit } from '../errors/errors.ts'
import { isTaken, openDraft } from '../io/new-file.ts'

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
