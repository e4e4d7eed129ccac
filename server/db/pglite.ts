import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { PGlite } from '@electric-sql/pglite'
import { NodeFS } from '@electric-sql/pglite/nodefs'
import { PGLiteSocketServer } from '@electric-sql/pglite-socket'
import { parseTarGzip } from 'nanotar'
import { OperatorError } from '../../src/contract/index.ts'
import { filesName, socketName } from './connect.ts'
import { flush, flushFolder } from './flush.ts'

/** Adds the fsync that PGlite lacks, before PostgreSQL's first write. */
class FlushedFiles extends NodeFS {
  override async init(pg: PGlite, options: Parameters<NodeFS['init']>[1]): ReturnType<NodeFS['init']> {
    return await super.init(pg, { ...options, preRun: [...(options.preRun ?? []), flushToDisk] })
  }
}

function flushToDisk({ FS }: PGlite['Module']): void {
  const { filesystems } = FS as unknown as {
    filesystems: { NODEFS: { stream_ops: { fsync?: (stream: { readonly nfd: number }) => number } } }
  }
  let failure: unknown
  filesystems.NODEFS.stream_ops.fsync = stream => {
    if (failure) throw failure
    try {
      flush(stream.nfd)
    } catch (error) {
      // A second fsync can succeed although data of the first is lost: the next thread replays the log.
      failure = error
      setImmediate(() => {
        throw error
      })
      throw error
    }
    return 0
  }
}

// V8 optimizes a WebAssembly function after this many bytes of its code have run. The default doubles the time of a
// start.
setFlagsFromString('--wasm-tiering-budget=100000000')

type StreamOptions = Parameters<PGlite['execProtocolRawStream']>[1]

const sync = new Uint8Array([0x53, 0, 0, 0, 4])

/** Extended-protocol messages that begin or continue a sequence, which ends with Sync. */
const sequenceMessages = new Set([...'PBDECH'].map(type => type.charCodeAt(0)))

/** Execute of a missing portal: after its error, Sync commits nothing of the sequence. */
const executeMissing = new Uint8Array([0x45, 0, 0, 0, 10, 0x3f, 0, 0, 0, 0, 0])

const terminate = 0x58

/**
 * PGlite for many clients. A sequence up to its Sync counts as a transaction: pglite-socket could serve another client
 * in between.
 */
export class SharedPGlite extends PGlite {
  #unfinished = false

  override isInTransaction(): boolean {
    return this.#unfinished || super.isInTransaction()
  }

  override async execProtocolRawStream(message: Uint8Array, options: StreamOptions): Promise<void> {
    if (message[0] === terminate) return await this.#abandonSequence()
    this.#unfinished = sequenceMessages.has(message[0] ?? 0)
    await super.execProtocolRawStream(message, options)
  }

  /** pglite-socket rolls back with it after a disconnect. */
  override async exec(...args: Parameters<PGlite['exec']>): ReturnType<PGlite['exec']> {
    await this.#abandonSequence()
    return super.exec(...args)
  }

  async #abandonSequence(): Promise<void> {
    if (!this.#unfinished) return
    this.#unfinished = false
    for (const message of [executeMissing, sync]) await super.execProtocolRawStream(message, { onRawData: () => {} })
  }
}

export interface EmbeddedDatabase {
  close(): Promise<void>
}

/**
 * Unpacks a database into a folder without one. The caller holds the lock.
 * @throws OperatorError if PostgreSQL rejects the files
 */
export async function openPGlite(folder: string, fresh: URL): Promise<EmbeddedDatabase> {
  const data = join(folder, filesName)
  if (isAbsent(data)) await initialize(data, fresh)
  chmodSync(data, 0o700)
  // A killed process leaves this file; empty, it prevents PostgreSQL's start.
  removeProcessId(data)
  return serveOnSocket(await open(data), folder)
}

function removeProcessId(data: string): void {
  rmSync(join(data, 'postmaster.pid'), { force: true })
}

function isAbsent(data: string): boolean {
  if (!existsSync(data) || readdirSync(data).length === 0) return true
  // PGlite would create a database over the rest of the old one.
  if (!existsSync(join(data, 'PG_VERSION'))) throw filesError(data, `${join(data, 'PG_VERSION')} is missing`)
  return false
}

async function open(data: string): Promise<SharedPGlite> {
  const startParams = PGlite.defaultStartParams
    .filter(flag => flag !== '-F') // PGlite runs without fsync by default
    .concat(['-c', 'wal_sync_method=fsync']) // Emscripten's fdatasync does nothing
    .concat(['-c', 'shared_buffers=16MB']) // with its 128 MB the engine takes 120 MB more from its start, used or not
  let log: string[] | null = []
  const onStderr = (line: string) => {
    log?.push(line)
    return true
  }
  const db = new SharedPGlite({ fs: new FlushedFiles(data), startParams, onStderr })
  try {
    await db.waitReady
  } catch (error) {
    removeProcessId(data)
    throw filesError(data, findReason(log) ?? (error as Error).message)
  }
  log = null
  return db
}

/** Renames the unpacked database once it is on the disk. */
async function initialize(data: string, fresh: URL): Promise<void> {
  const unfinished = `${data}.new`
  rmSync(unfinished, { recursive: true, force: true })
  try {
    await unpack(fresh, unfinished)
  } catch (error) {
    rmSync(unfinished, { recursive: true, force: true })
    throw error
  }
  renameSync(unfinished, data)
  flushFolder(dirname(data))
}

async function unpack(archive: URL, into: string): Promise<void> {
  mkdirSync(into)
  const folders = [into]
  for (const { name, type, data } of await parseTarGzip(readFileSync(archive))) {
    const path = join(into, name)
    if (type === 'directory') {
      mkdirSync(path)
      folders.push(path)
    } else writeFileSync(path, data ?? '', { mode: 0o600, flush: true })
  }
  for (const folder of folders) flushFolder(folder)
}

export async function serveOnSocket(db: SharedPGlite, folder: string): Promise<EmbeddedDatabase> {
  const path = join(folder, socketName)
  rmSync(path, { force: true })
  const server = new PGLiteSocketServer({ db, path, maxConnections: 100 })
  await server.start()
  return {
    close: async () => {
      await server.stop()
      await db.close()
    },
  }
}

function findReason(log: readonly string[]): string | undefined {
  const messages = log
    .map(line => /(?:^postgres| (FATAL|PANIC|DETAIL)): +(.+)/.exec(line))
    .filter(found => found !== null)
  const end = messages.findIndex(([, level]) => level !== 'DETAIL')
  return end < 0
    ? undefined
    : messages
        .slice(end, end + 2)
        .map(([, , text]) => text)
        .join(': ')
}

function filesError(data: string, reason: string): OperatorError {
  const hint = /incompatible with server/.test(reason)
    ? `open ${data} with the version of consentctl that made it, and move it over: admin export`
    : `put ${data} back from a backup, or move it away to begin with an empty database`
  return new OperatorError(reason, { hint })
}
