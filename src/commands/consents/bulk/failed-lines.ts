import { CliError, exit, usageError } from '../../../errors/errors.ts'
import { openOutFile } from '../../../io/new-file.ts'

export type FailedLines = Awaited<ReturnType<typeof openFailedLines>>

/**
 * The file appears if lines are rejected or left, unless none was sent.
 *
 * @throws UsageError if it exists or cannot be created
 */
export async function openFailedLines(path: string) {
  const file = await openOutFile(path, '--failed-out').catch((error: CliError) => {
    throw error.code === 'io' ? usageError(`--failed-out: ${error.message}`) : error
  })
  let [endsInNewline, isClosed] = [true, false]
  return {
    add: async (line: Uint8Array, header: Uint8Array | null) => {
      const before = file.isEmpty && header ? [header] : endsInNewline ? [] : [Buffer.from('\n')]
      endsInNewline = line.at(-1) === 10
      await file.write(Buffer.concat([...before, line]))
    },
    close: async (isWanted: boolean) => {
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
