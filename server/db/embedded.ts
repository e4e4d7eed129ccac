import { setTimeout as delay } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { OperatorError } from '../../src/contract/index.ts'
import { connect } from './connect.ts'
import { makeFolder } from './flush.ts'
import { lockFolder } from './lock.ts'
import type { EmbeddedDatabase } from './pglite.ts'

/** Bytes; the limit is 104 with the final zero on macOS, 108 on Linux. */
const maxSocketPath = 103

const maxSocketName = 16

const minRestartDelayMs = 100
const maxRestartDelayMs = 5000

/** About 20,000 creates. */
const maxLogBytes = 64 * 2 ** 20

export interface EmbeddedOptions {
  readonly workerFile: URL
  /** Called with null at the end of the wait. */
  readonly onWait?: ((what: string | null) => void) | undefined
  readonly onTrouble?: ((error: Error) => void) | undefined
  readonly checkpointIntervalMs?: number
}

/**
 * Restarts the database's thread if it ends unexpectedly.
 * @throws OperatorError if the folder is in use or the database cannot be opened
 */
export async function startEmbedded(
  folder: string,
  { workerFile, onWait, onTrouble, checkpointIntervalMs = 60_000 }: EmbeddedOptions,
): Promise<EmbeddedDatabase> {
  prepareFolder(folder)
  const unlock = await lockFolder(folder).catch(cause => {
    throw unusable(`the data folder ${folder} cannot be used`, folder, cause)
  })
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
    let reason = new Error('its thread exited')
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
    throw unusable(`the embedded database in ${folder} cannot be opened`, folder, cause)
  } finally {
    onWait?.(null)
  }
  const checkpoints = setInterval(() => void checkpoint(folder).catch(() => {}), checkpointIntervalMs).unref()
  return {
    close: async () => {
      closing = true
      clearInterval(checkpoints)
      await ended(worker)
      await unlock()
    },
  }
}

/** PGlite lacks PostgreSQL's checkpointer. */
async function checkpoint(folder: string): Promise<void> {
  const sql = connect({ target: { folder }, max: 1 })
  try {
    const [log] = await sql<{ bytes: number }[]>`
      select pg_wal_lsn_diff(pg_current_wal_lsn(), redo_lsn)::float8 as bytes from pg_control_checkpoint()`
    if (log && log.bytes > maxLogBytes) await sql`checkpoint`
  } finally {
    await sql.end({ timeout: 1 })
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
    throw unusable(`the data folder ${folder} cannot be made`, folder, cause)
  }
}

const systemErrors: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'its file system is read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
}

const systemHints: readonly (readonly [reason: RegExp, hint: (folder: string) => string])[] = [
  [/permission denied/i, folder => `let the user of this process own ${folder} and everything in it`],
  [/read-only/i, () => 'make the file system writable, or choose another folder with --data-dir'],
  [/disk is full|disk quota|no space left/i, folder => `make room on the disk of ${folder}`],
]

function unusable(problem: string, folder: string, cause: unknown): OperatorError {
  const { message = '', code = '', hint } = cause as { message?: string; code?: string; hint?: string }
  const reason = systemErrors[code] ?? message
  const remedy = systemHints.find(([reasons]) => reasons.test(reason))?.[1](folder) ?? hint
  return new OperatorError(`${problem}: ${reason}`, { cause, ...(remedy !== undefined && { hint: remedy }) })
}

function ready(worker: Worker): Promise<void> {
  return new Promise((resolve, reject) => {
    worker.once('message', () => resolve())
    worker.once('error', reject)
    worker.once('exit', code => reject(new Error(`its thread exited with code ${code}`)))
  })
}

function ended(worker: Worker): Promise<void> {
  return new Promise(resolve => {
    if (worker.threadId === -1) return resolve()
    worker.once('exit', () => resolve())
    worker.postMessage('close')
  })
}
