import type { PGlite } from '@electric-sql/pglite'
import { NodeFS } from '@electric-sql/pglite/nodefs'
import { flush } from './flush.ts'

/** An open file of Emscripten's NODEFS, with the descriptor of the real file under it. */
interface NodeStream {
  readonly nfd: number
}

/**
 * PGlite's file layer with the fsync that it has none of, there before PostgreSQL writes anything: its start already relies
 * on pg_control, which says whether the log is to be replayed, being on the disk.
 */
export class FlushedFiles extends NodeFS {
  override async init(pg: PGlite, options: Parameters<NodeFS['init']>[1]): ReturnType<NodeFS['init']> {
    return await super.init(pg, { ...options, preRun: [...(options.preRun ?? []), flushToDisk] })
  }
}

function flushToDisk({ FS }: PGlite['Module']): void {
  const { filesystems } = FS as unknown as {
    filesystems: { NODEFS: { stream_ops: { fsync?: (stream: NodeStream) => number } } }
  }
  let failure: unknown
  filesystems.NODEFS.stream_ops.fsync = stream => {
    if (failure) throw failure
    try {
      flush(stream.nfd)
    } catch (error) {
      // What could not be flushed may be flushed "again" with success while it is lost. So nothing is acknowledged any more,
      // and the thread ends: the next one replays the log from what is on the disk.
      failure = error
      setImmediate(() => {
        throw error
      })
      throw error
    }
    return 0
  }
}
