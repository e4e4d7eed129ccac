import { existsSync, fsyncSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { PGlite } from '@electric-sql/pglite'
import { PGLiteSocketServer } from '@electric-sql/pglite-socket'
import { socketName } from './connect.ts'

type StreamOptions = Parameters<PGlite['execProtocolRawStream']>[1]

const sync = new Uint8Array([0x53, 0, 0, 0, 4])

/** The messages after which a client of PostgreSQL's extended protocol has not finished what it began. */
const unfinished = new Set([...'PBDECHF'].map(type => type.charCodeAt(0)))

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
    this.#unfinished = unfinished.has(message[0] ?? 0)
    await super.execProtocolRawStream(message, options)
  }

  /** pglite-socket rolls back with this what a client left open that went away; Sync first, or it is not read. */
  override async exec(...args: Parameters<PGlite['exec']>): ReturnType<PGlite['exec']> {
    if (this.#unfinished) await this.execProtocolRawStream(sync, { onRawData: () => {} })
    return super.exec(...args)
  }
}

export interface EmbeddedDatabase {
  close(): Promise<void>
}

/**
 * Opens the embedded database of a folder and serves it there. Each commit is flushed to the disk before it is
 * acknowledged: PGlite runs without fsync by default, and its file layer has none until it is given one.
 */
export async function openPGlite(folder: string): Promise<EmbeddedDatabase> {
  const startParams = PGlite.defaultStartParams
    .filter(flag => flag !== '-F')
    .concat(['-c', 'wal_sync_method=fsync'])
  const data = join(folder, 'postgresql')
  if (!existsSync(data)) await initialize(data)
  const db = new SharedPGlite(data, { startParams })
  await db.waitReady
  flushToDisk(db)
  return serveOnSocket(db, folder)
}

/** Makes an empty database under another name first: what a first start leaves that is killed is no database. */
async function initialize(data: string): Promise<void> {
  const unfinished = `${data}.new`
  rmSync(unfinished, { recursive: true, force: true })
  const db = await PGlite.create(unfinished)
  await db.close()
  renameSync(unfinished, data)
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

/** An open file of Emscripten's NODEFS, with the descriptor of the real file under it. */
interface NodeStream {
  readonly nfd: number
}

function flushToDisk(db: PGlite): void {
  const { filesystems } = db.Module.FS as unknown as {
    filesystems: { NODEFS: { stream_ops: { fsync?: (stream: NodeStream) => number } } }
  }
  filesystems.NODEFS.stream_ops.fsync = stream => {
    fsyncSync(stream.nfd)
    return 0
  }
}
