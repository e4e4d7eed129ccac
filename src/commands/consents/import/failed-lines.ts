import { CliError, exit, usageError } from '../../../errors/errors.ts'
import { openOutFile } from '../../../io/new-file.ts'

/** The file of `--failed-out`, which gets its name when no line is left to retry. */
export interface FailedLines {
  /** Adds a raw line, the first one after the header of its CSV. */
  add(line: Uint8Array, header: Uint8Array | null): Promise<void>
  /** Gives the file its name if it is wanted and has a line, and removes it otherwise. */
  close(isWanted: boolean): Promise<void>
}

/** @throws UsageError if the file exists, or cannot be created */
export async function openFailedLines(path: string): Promise<FailedLines> {
  const file = await openOutFile(path, '--failed-out').catch((error: CliError) => {
    throw error.code === 'io' ? usageError(`--failed-out: ${error.message}`) : error
  })
  let [endsInNewline, isClosed] = [true, false]
  return {
    add: async (line, header) => {
      const before = file.isEmpty && header ? [header] : endsInNewline ? [] : [Buffer.from('\n')]
      endsInNewline = line.at(-1) === 10
      await file.write(Buffer.concat([...before, line]))
    },
    close: async isWanted => {
      if (isClosed) return
      isClosed = true
      if (!isWanted || file.isEmpty) return await file.abandon(false)
      await file.commit().catch((error: Error) => {
        const message = `${error.message}; its lines are in ${file.part}`
        throw new CliError('io', exit.failure, message, { cause: error })
      })
    },
  }
}
