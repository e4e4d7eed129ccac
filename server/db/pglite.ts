import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { PGlite } from '@electric-sql/pglite'
import { PGLiteSocketServer } from '@electric-sql/pglite-socket'
import { parseTarGzip } from 'nanotar'
import { filesName, socketName } from './connect.ts'
import { flushFolder } from './flush.ts'
import { FlushedFiles } from './flushed-files.ts'
import { reasonIn, unusable } from './unusable.ts'

// V8 compiles a function of WebAssembly again, slowly, to run faster, once about so many bytes of its code have run. With its own
// 1.8 million (13 since Node.js 22) half of a start goes into functions that run for a moment; busy ones come to it all the same.
setFlagsFromString('--wasm-tiering-budget=100000000')

type StreamOptions = Parameters<PGlite['execProtocolRawStream']>[1]

const sync = new Uint8Array([0x53, 0, 0, 0, 4])

/** The messages after which a client of PostgreSQL's extended protocol has not finished what it began. */
const unfinished = new Set([...'PBDECH'].map(type => type.charCodeAt(0)))

/** Execute of a portal that does not exist: the error gives up what was begun, and Sync then commits nothing. */
const abandon = new Uint8Array([0x45, 0, 0, 0, 10, 0x3f, 0, 0, 0, 0, 0])

const terminate = 0x58

/**
 * The embedded PostgreSQL with many clients on its one backend. pglite-socket runs one message at a time and lets
 * another client in between any two that are outside a transaction; a client whose Bind and Execute arrive in two
 * reads would then be given the rows of somebody else's portal. So a sequence up to its Sync counts as a transaction.
 */
export class SharedPGlite extends PGlite {
  #unfinished = false

  override isInTransaction(): boolean {
    return this.#unfinished || super.isInTransaction()
  }

  override async execProtocolRawStream(message: Uint8Array, options: StreamOptions): Promise<void> {
    if (message[0] === terminate) return await this.#giveUp()
    this.#unfinished = unfinished.has(message[0] ?? 0)
    await super.execProtocolRawStream(message, options)
  }

  /** pglite-socket rolls back with this what a client left open that went away. */
  override async exec(...args: Parameters<PGlite['exec']>): ReturnType<PGlite['exec']> {
    await this.#giveUp()
    return super.exec(...args)
  }

  /** Ends a sequence whose client has gone: what it wrote is not committed, and the next client is heard. */
  async #giveUp(): Promise<void> {
    if (!this.#unfinished) return
    this.#unfinished = false
    for (const message of [abandon, sync]) await super.execProtocolRawStream(message, { onRawData: () => {} })
  }
}

export interface EmbeddedDatabase {
  close(): Promise<void>
}

/**
 * Opens the embedded database of a folder, or else a fresh one that it unpacks there, and serves it. Each commit is flushed
 * to the disk before it is acknowledged. The caller holds the folder's lock. Throws an OperatorError where PostgreSQL
 * refuses the files.
 */
export async function openPGlite(folder: string, fresh: URL): Promise<EmbeddedDatabase> {
  const data = join(folder, filesName)
  if (isAbsent(data)) await initialize(data, fresh)
  chmodSync(data, 0o700) // the folder may be one that was there before, and open to others
  // What a start left that did not end in a stop; empty after a power cut, and PostgreSQL would not start. With the folder's
  // lock held, nobody runs whom it could name.
  rmSync(join(data, 'postmaster.pid'), { force: true })
  return serveOnSocket(await open(data), folder)
}

function isAbsent(data: string): boolean {
  if (!existsSync(data) || readdirSync(data).length === 0) return true
  // PGlite would make a new database over what is left of the old one.
  if (!existsSync(join(data, 'PG_VERSION'))) throw unusable(data, `${join(data, 'PG_VERSION')} is missing`)
  return false
}

async function open(data: string): Promise<SharedPGlite> {
  const startParams = PGlite.defaultStartParams
    .filter(flag => flag !== '-F') // PGlite runs without fsync by default
    .concat(['-c', 'wal_sync_method=fsync']) // Emscripten's fdatasync does nothing
  let log: string[] | null = []
  const onStderr = (line: string) => {
    log?.push(line)
    return true
  }
  const db = new SharedPGlite({ fs: new FlushedFiles(data), startParams, onStderr })
  try {
    await db.waitReady
  } catch (error) {
    throw unusable(data, reasonIn(log) ?? (error as Error).message)
  }
  log = null
  return db
}

/**
 * Unpacks an empty database under another name first, all of it on the disk before it has its own: what a first start leaves
 * that is killed is no database.
 */
async function initialize(data: string, fresh: URL): Promise<void> {
  const unfinished = `${data}.new`
  rmSync(unfinished, { recursive: true, force: true })
  mkdirSync(unfinished)
  const folders = [unfinished]
  for (const { name, type, data: bytes } of await parseTarGzip(readFileSync(fresh))) {
    const path = join(unfinished, name)
    if (type === 'directory') {
      mkdirSync(path)
      folders.push(path)
    } else writeFileSync(path, bytes ?? '', { mode: 0o600, flush: true })
  }
  for (const folder of folders) flushFolder(folder)
  renameSync(unfinished, data)
  flushFolder(dirname(data))
}

/** Serves a database on PostgreSQL's Unix socket in a folder; closing ends both. */
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
