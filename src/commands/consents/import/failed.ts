import { stat } from 'node:fs/promises'
import { CliError, exit, usageError } from '../../../errors/errors.ts'
import { openDraft } from '../../../io/draft.ts'

/**
 * The file that holds the rejected lines, ready to be fed again. It has its name only when the work is over: of lines
 * that are still to be tried again by `--resume` nobody shall feed a second copy.
 */
export interface FailedOut {
  /** Adds a line as it came; the header of the file it came from goes before the first. */
  add(raw: Uint8Array, header: Uint8Array | null): Promise<void>
  /** Ends it: it takes its name if it is wanted and has a line, else it is removed. */
  close(isWanted: boolean): Promise<void>
}

/** Throws a usage error where the file is there already, or cannot be made. */
export async function openFailedOut(path: string, pid: number): Promise<FailedOut> {
  if (await stat(path).catch(() => null)) throw isThere(path)
  const draft = await openDraft(`${path}.${pid}.part`).catch((error: Error) => {
    throw usageError(`--failed-out: ${error.message}`)
  })
  let isEmpty = true
  let endsInLine = true
  let isClosed = false
  return {
    add: async (raw, header) => {
      const start = isEmpty && header ? [header] : endsInLine ? [] : [Buffer.from('\n')]
      isEmpty = false
      endsInLine = raw.at(-1) === 10
      await draft.file.writeFile(Buffer.concat([...start, raw])).catch(cannotWrite(path))
    },
    close: async isWanted => {
      if (isClosed) return
      isClosed = true
      try {
        if (isWanted && !isEmpty)
          await draft.take(path).catch(cannotWrite(`${path} (its lines are in ${draft.part})`))
      } finally {
        await draft.file.close()
      }
      await draft.remove()
    },
  }
}

function isThere(path: string): CliError {
  return usageError(`${path} is there already, and is not overwritten`, 'name another file, or move it away')
}

function cannotWrite(path: string): (error: Error) => never {
  return error => {
    throw new CliError('io', exit.failure, `${path} cannot be written: ${error.message}`, { cause: error })
  }
}
