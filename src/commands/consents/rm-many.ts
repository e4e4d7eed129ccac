import type * as z from 'zod'
import { type confirmOptions, mustPrompt, promptToConfirm, requireConfirmedCount } from '../../cli/confirm.ts'
import { instanceLabel } from '../../cli/messages.ts'
import type { Output } from '../../cli/output.ts'
import type { Context } from '../../context.ts'
import { usageError } from '../../errors/errors.ts'
import { consentView, type LineResult } from '../../views/consent.ts'
import { deletions } from './import/changes.ts'
import { importConsents } from './import/import.ts'
import { formatOfIds } from './import/lines.ts'
import { type lineFlagOptions, toLineOptions } from './import/options.ts'

type LineOptions = z.output<z.ZodObject<typeof lineFlagOptions & typeof confirmOptions>> & {
  readonly operands: readonly string[]
  readonly ignoreMissing?: true | undefined
  readonly dryRun?: true | undefined
}

/** Deletes the record of each line of a file, after the user has confirmed the number of lines. */
export async function removeLines(ctx: Context, options: LineOptions): Promise<Output<LineResult>> {
  const { operands, file, resume, format, ignoreMissing = false, dryRun = false, ...rest } = options
  if (operands.length > 0) throw usageError('use ids or --file, not both')
  if (file === '-') throw usageError('--file needs a file, whose lines can be counted', 'for standard input: rm -')
  // The rest of a job was confirmed when it began.
  const asks = !dryRun && resume === undefined && mustPrompt(ctx, rest, { action: 'delete' })
  const approve = async (lines: number) => {
    requireConfirmedCount(rest, lines, 'line', 'deleted')
    const question = { action: 'delete', noun: 'record', where: instanceLabel(ctx), total: lines }
    if (asks && lines > 0) await promptToConfirm(ctx, consentView, [], question)
  }
  const lineOptions = {
    ...toLineOptions(options),
    format: format ?? (file === undefined ? undefined : formatOfIds(file)),
    ...{ site: undefined, siteFlag: undefined, batch: false, dryRun, approve },
  } as const
  return importConsents(ctx, lineOptions, deletions({ ignoreMissing }))
}
