import { formatCount } from '../../../cli/messages.ts'
import type { Context } from '../../../context.ts'
import { dataError } from '../../../errors/errors.ts'
import { reportsByKind } from '../../../errors/report.ts'
import { openOutFile } from '../../../io/new-file.ts'
import { safeJson } from '../../../output/index.ts'
import type { Refused } from './prepare/prepared.ts'

/** Prints examples, and lists all in the file of `--refused-out`. @throws CliError if it cannot be created */
export async function openRefusedRows(ctx: Context, path: string | undefined) {
  const reports = reportsByKind(ctx)
  const list = path === undefined ? null : await openList(path)
  return {
    add: async (refused: Refused): Promise<void> => {
      await list?.add(refused)
      const { message, rows, where } = refused
      const whole = rows > 1 ? `; all ${rows} rows of its person are refused` : ''
      await reports.add(dataError(message + whole), where)
    },
    /** The file is complete and on disk; there is no file without refused rows. */
    finish: async (): Promise<void> => {
      await reports.finish()
      await list?.commit()
    },
    /** Removes an unfinished file. */
    close: async (): Promise<void> => list?.close(),
  }
}

const writeLength = 65_536

async function openList(path: string) {
  const file = await openOutFile(path, '--refused-out')
  let text = ''
  const flush = async () => {
    const lines = text
    text = ''
    await file.write(lines)
  }
  return {
    add: async (refused: Refused): Promise<void> => {
      text += `${safeJson(refused)}\n`
      if (text.length >= writeLength) await flush()
    },
    commit: async (): Promise<void> => {
      await flush()
      if (!file.isEmpty) await file.commit()
    },
    close: () => file.abandon(false),
  }
}

/** The count, and where the list is. */
export function describeRefusedRows(rows: number, path: string | undefined): string {
  return `${formatCount(rows, 'row')} refused (${path === undefined ? '--refused-out FILE lists all' : `listed in ${path}`})`
}
