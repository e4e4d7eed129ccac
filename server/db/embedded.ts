import { mkdirSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { OperatorError } from '../../src/contract/index.ts'
import { lockFolder } from './lock.ts'
import type { EmbeddedDatabase } from './pglite.ts'

/** The longest path of a Unix socket: 104 bytes with its final zero on macOS, 108 on Linux. */
const longestSocketPath = 103

/** Room for the longest name of one in the folder: PostgreSQL's, or a lock's. */
const longestSocketName = 16

/** How long a database that ended by itself is left alone before it is started again, in milliseconds. */
const restartDelay = 100

export interface EmbeddedOptions {
  /** The built file of the embedded database's thread. */
  readonly workerFile: URL
  /** Called with what is being waited for, and with null when it is over. */
  readonly onWait?: ((what: string | null) => void) | undefined
}

/**
 * Starts the embedded database of a folder in a thread of its own, and again whenever that thread ends by itself.
 * Throws an OperatorError where another process has the folder.
 */
export async function startEmbedded(
  folder: string,
  { workerFile, onWait }: EmbeddedOptions,
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
    worker.on('error', () => {}) // the exit that follows is what counts
    worker.once('exit', () => !closing && void restart())
  }
  const restart = async (): Promise<void> => {
    await delay(restartDelay)
    if (!closing) await start().catch(restart)
  }
  onWait?.('opening the embedded database (the first time takes some seconds)')
  try {
    await start()
  } catch (cause) {
    await unlock()
    const { message } = cause as Error
    throw new OperatorError(`the embedded database in ${folder} cannot be opened: ${message}`, { cause })
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
  const room = longestSocketPath - longestSocketName - 1
  if (Buffer.byteLength(folder) > room) {
    throw new OperatorError(`the path of the data folder ${folder} is too long for a Unix socket in it`, {
      hint: `choose one of at most ${room} bytes with --data-dir`,
    })
  }
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
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
