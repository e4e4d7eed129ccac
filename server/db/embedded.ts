import { setTimeout as delay } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { OperatorError } from '../../src/contract/index.ts'
import { makeFolder } from './flush.ts'
import { lockFolder } from './lock.ts'
import type { EmbeddedDatabase } from './pglite.ts'

/** In bytes: 104 with the final zero on macOS, 108 on Linux. */
const maxSocketPath = 103

/** In bytes, of PostgreSQL's socket or a lock's. */
const maxSocketName = 16

const minRestartDelayMs = 100
const maxRestartDelayMs = 5000

export interface EmbeddedOptions {
  readonly workerFile: URL
  /** Called with a description of a wait, and with null at its end. */
  readonly onWait?: ((what: string | null) => void) | undefined
  readonly onTrouble?: ((error: Error) => void) | undefined
}

/**
 * Restarts the thread of the database when it ends by itself.
 *
 * @throws OperatorError if another process uses the folder, or the database cannot be opened
 */
export async function startEmbedded(
  folder: string,
  { workerFile, onWait, onTrouble }: EmbeddedOptions,
): Promise<EmbeddedDatabase> {
  prepareFolder(folder)
  const unlock = await lockFolder(folder)
  if (!unlock) {
    throw new OperatorError(`the data folder ${folder} is in use by another consentctl serve`, {
      hint: 'stop that one, or choose another folder with --data-dir',
    })
  }
  let closing = false
  let worker: Worker
  const start = async () => {
    worker = new Worker(workerFile, { workerData: { folder } })
    await ready(worker)
    let reason = new Error('its thread ended')
    worker.on('error', error => {
      reason = error
    })
    worker.once('exit', () => !closing && void restart(reason, minRestartDelayMs))
  }
  const restart = async (reason: Error, wait: number): Promise<void> => {
    onTrouble?.(reason)
    await delay(wait)
    if (closing) return
    await start().catch((error: Error) => restart(error, Math.min(wait * 2, maxRestartDelayMs)))
  }
  onWait?.('opening the embedded database')
  try {
    await start()
  } catch (cause) {
    await unlock()
    const { message, hint } = cause as Partial<OperatorError> // a structured clone from the thread
    throw new OperatorError(`the embedded database in ${folder} cannot be opened: ${message}`, {
      cause,
      ...(hint !== undefined && { hint }),
    })
  } finally {
    onWait?.(null)
  }
  return {
    close: async () => {
      closing = true
      await ended(worker)
      await unlock()
    },
  }
}

function prepareFolder(folder: string): void {
  const room = maxSocketPath - maxSocketName - 1
  if (Buffer.byteLength(folder) > room) {
    throw new OperatorError(`the path of the data folder ${folder} is too long for a Unix socket in it`, {
      hint: `choose one of at most ${room} bytes with --data-dir`,
    })
  }
  try {
    makeFolder(folder)
  } catch (cause) {
    throw new OperatorError(`the data folder ${folder} cannot be made: ${(cause as Error).message}`, {
      cause,
    })
  }
}

function ready(worker: Worker): Promise<void> {
  return new Promise((resolve, reject) => {
    worker.once('message', () => resolve())
    worker.once('error', reject)
    worker.once('exit', code => reject(new Error(`its thread ended with code ${code}`)))
  })
}

function ended(worker: Worker): Promise<void> {
  return new Promise(resolve => {
    if (worker.threadId === -1) return resolve()
    worker.once('exit', () => resolve())
    worker.postMessage('close')
  })
}
