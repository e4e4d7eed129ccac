import type { PGlite } from '@electric-sql/pglite'
import { NodeFS } from '@electric-sql/pglite/nodefs'
import { flush } from './flush.ts'

/** An open file of Emscripten's NODEFS; `nfd` is the descriptor of the real file. */
interface NodeStream {
  readonly nfd: number
}

/**
 * PGlite's file layer with the fsync that it lacks, installed before PostgreSQL's first write: the start already relies on
 * pg_control being on the disk.
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
      // A second fsync can succeed although the data of the first one is lost. So nothing more is acknowledged, and the
      // thread ends: the next one replays the log from the disk.
      failure = error
      setImmediate(() => {
        throw error
      })
      throw error
    }
    return 0
  }
}
