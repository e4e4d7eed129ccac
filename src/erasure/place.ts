import { createHash } from 'node:crypto'
import { CliError, exit } from '../errors/errors.ts'
import { isTaken, openDraft } from '../io/new-file.ts'

/**
 * A profile's name as one of a file: never one that leads out of its folder, and never longer than a file's name may be.
 * What is no usual name stands as its SHA-256.
 */
export function fileNameOf(profile: string): string {
  const isUsual = /^[\p{L}\p{N}][\p{L}\p{M}\p{N}._@-]*$/u.test(profile) && Buffer.byteLength(profile) <= 200
  return isUsual ? profile : `~${createHash('sha256').update(profile).digest('hex')}`
}

/**
 * Gives a new file its name and its content at once, both on the disk when it resolves; false where the name is taken.
 * `part` is what it is called until then; one that a killed process left there is replaced.
 */
export async function makeFile(path: string, part: string, content: string): Promise<boolean> {
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

/** For what may be missing; throws whatever else is wrong. */
export function noneWhereMissing(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null
  throw error
}

/** Turns what the system says against some work with files into what is told of it (exit 1). */
export async function local<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof CliError) throw error
    const { code, message } = error as NodeJS.ErrnoException
    throw new CliError('io', exit.failure, `${what}: ${code ?? message}`, {
      hint: 'see who owns the folder, and whether there is room',
      cause: error,
    })
  }
}
