import { closeSync, openSync, rmSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { CliError, exit } from '../errors/errors.ts'

/** Milliseconds. What is done under the lock takes a few: whoever holds it longer was killed. */
const [staleAfter, patience] = [10_000, 30_000]

/** Runs work that must not be interleaved with that of another process; the work is synchronous, so that it is short. */
export async function withLock<T>(folder: string, work: () => T): Promise<T> {
  const file = join(folder, '.lock')
  const start = Date.now()
  while (!take(file)) {
    if (Date.now() - start > patience) throw stuck(file)
    await delay(5 + Math.random() * 20)
  }
  try {
    return work()
  } finally {
    rmSync(file, { force: true })
  }
}

/** Makes the lock's file, which only one can; one that a killed process has left is removed first. */
function take(file: string): boolean {
  try {
    closeSync(openSync(file, 'wx', 0o600))
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw cannotWrite(dirname(file), error)
    const made = statSync(file, { throwIfNoEntry: false })?.mtimeMs
    if (made !== undefined && Date.now() - made > staleAfter) rmSync(file, { force: true })
    return false
  }
}

function stuck(file: string): CliError {
  return new CliError('io', exit.failure, `another consentctl holds ${file}`, {
    hint: 'wait for it to end; if there is none, remove the file',
  })
}

/** The system's reason why a folder cannot be written (exit 1). */
export function cannotWrite(folder: string, cause: unknown): CliError {
  const { code, message } = cause as NodeJS.ErrnoException
  return new CliError('io', exit.failure, `${folder} cannot be written: ${code ?? message}`, {
    hint: 'see who owns it, and whether there is room; CONSENTCTL_CONFIG_DIR names another folder',
    cause,
  })
}
