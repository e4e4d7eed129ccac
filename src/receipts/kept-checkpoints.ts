import { readFileSync } from 'node:fs'
import { open, rename, unlink } from 'node:fs/promises'
import { dirname } from 'node:path'
import { CliError, dataError, exit } from '../errors/errors.ts'
import { readCheckpoint, type SignedCheckpoint, splitDocuments } from '../evidence/signed.ts'
import { unreadable } from '../io/input.ts'
import { syncFolder } from '../io/new-file.ts'

export interface Kept {
  /** Null if the file does not exist. */
  readonly text: string | null
  readonly checkpoints: readonly SignedCheckpoint[]
}

/** @throws CliError for anything but checkpoints */
export function readKept(file: string): Kept {
  const text = textOf(file)
  if (text === null) return { text, checkpoints: [] }
  let line = 1
  const checkpoints = splitDocuments(text).map(document => {
    try {
      return readCheckpoint(document)
    } catch (error) {
      throw dataError(
        `${file}, from line ${line} on: ${(error as Error).message}`,
        'use a file that consentctl admin checkpoint has written',
      )
    } finally {
      line += document.split('\n').length - 1
    }
  })
  return { text, checkpoints }
}

function textOf(file: string): string | null {
  try {
    return readFileSync(file, 'latin1')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw unreadable(file, error)
  }
}

/**
 * Replaces the file with one that only its owner can read.
 * @throws CliError if it cannot be written, or is no longer `before`
 */
export async function addKept(file: string, before: Kept, documents: readonly string[]): Promise<void> {
  const isKnown = new Set(before.checkpoints.map(({ text }) => text))
  const added = documents.filter(document => !isKnown.has(document))
  if (added.length === 0 && before.text !== null) return
  const part = `${file}.part` // also a lock (`wx`) against other commands
  try {
    const handle = await open(part, 'wx', 0o600)
    try {
      if (textOf(file) !== before.text) throw new Error('another command wrote to it at the same time')
      await handle.writeFile((before.text ?? '') + added.join(''), 'latin1')
      await handle.sync()
    } catch (error) {
      await unlink(part)
      throw error
    } finally {
      await handle.close()
    }
    await rename(part, file)
    await syncFolder(dirname(file))
  } catch (cause) {
    const isHeld = (cause as NodeJS.ErrnoException).code === 'EEXIST'
    const message = isHeld ? `${part} exists` : (cause as Error).message
    const hint = isHeld ? 'another command is writing it; if none is, remove that file' : 'run it again'
    throw new CliError('io', exit.failure, `${file} cannot be written: ${message}`, { cause, hint })
  }
}
