import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import * as z from 'zod'
import type { Context } from '../context.ts'
import { dataError } from '../errors/errors.ts'
import { partOf, syncFolder } from '../io/new-file.ts'
import { keyFile } from './keys.ts'
import { local, noneWhereMissing } from './place.ts'

/** The newest receipt of a profile when it was made, by its number and the SHA-256 of its file. */
const Head = z.strictObject({ number: z.int().min(1), sha256: z.string().regex(/^[\da-f]{64}$/) })
export type Head = z.output<typeof Head>

/** Beside the key and not among the receipts: whoever can change it here could as well sign with the key. */
export function headFile(ctx: Pick<Context, 'settings'>): string {
  return keyFile(ctx).replace(/pem$/, 'head')
}

/**
 * What the chain of the profile must hold; null where nothing is known of it. It is written after the receipt, and so may
 * be behind, but never ahead.
 */
export async function readHead(ctx: Pick<Context, 'settings'>): Promise<Head | null> {
  const file = headFile(ctx)
  const text = await local(`${file} cannot be read`, () => readFile(file, 'utf8').catch(noneWhereMissing))
  if (text === null) return null
  try {
    return Head.parse(JSON.parse(text))
  } catch {
    throw dataError(`${file} does not tell the newest receipt`, wayOut(ctx))
  }
}

/** Without effect where a later one is known. That it cannot be written is told, for the receipt is there. */
export async function keepHead(ctx: Pick<Context, 'settings' | 'warn'>, head: Head): Promise<void> {
  const file = headFile(ctx)
  const part = partOf(file)
  try {
    if (((await readHead(ctx))?.number ?? 0) >= head.number) return
    await writeFile(part, `${JSON.stringify(head)}\n`, { mode: 0o600, flush: true })
    await rename(part, file)
    await syncFolder(dirname(file))
  } catch (error) {
    await rm(part, { force: true }).catch(() => {})
    const why = (error as Error).message
    await ctx.warn(`warning: nobody would notice if receipt ${head.number} were lost: ${why}`)
  }
}

/** What is wrong with a receipt of the chain, by the digest of its file, null where it is missing. */
export function headFault(head: Head, digest: string | null): string | null {
  if (digest === null) return `receipt ${head.number} is missing`
  return digest === head.sha256 ? null : `receipt ${head.number} is not the one that was made`
}

/** What to do where the newest receipt is not there. */
export function wayOut(ctx: Pick<Context, 'settings'>): string {
  return `put the receipts back from a backup; where they are lost for good, move ${headFile(ctx)} away`
}
