import type * as z from 'zod'
import { type confirmOptions, mustPrompt, promptToConfirm, requireConfirmedCount } from '../../cli/confirm.ts'
import { instanceLabel } from '../../cli/messages.ts'
import type { Output } from '../../cli/output.ts'
import type { Context } from '../../context.ts'
import type { Consent } from '../../contract/index.ts'
import { exit, usageError } from '../../errors/errors.ts'
import { exitOf } from '../../errors/explain.ts'
import { consentView, type LineResult } from '../../views/consent.ts'
import { deletions } from './bulk/changes.ts'
import { formatOfIds, type lineFlagOptions } from './bulk/options.ts'
import type { Reader } from './bulk/reader.ts'
import { runLineJob } from './bulk/run.ts'

type LineOptions = z.output<z.ZodObject<typeof lineFlagOptions & typeof confirmOptions>> & {
  readonly operands: readonly string[]
  readonly ignoreMissing?: true | undefined
  readonly dryRun?: true | undefined
}

export async function removeLines(ctx: Context, options: LineOptions): Promise<Output<LineResult>> {
  const { operands, file, resume, format, ignoreMissing = false, dryRun = false } = options
  if (operands.length > 0) throw usageError('ids and --file cannot be combined')
  if (file === '-')
    throw usageError('--file must be a regular file, because its lines are counted first', 'for standard input: rm -')
  // A resumed job is already confirmed.
  const asks = !dryRun && resume === undefined && mustPrompt(ctx, options, { action: 'delete' })
  const approve = async (lines: number, reader: Reader<object>) => {
    requireConfirmedCount(options, lines, 'line', 'deleted')
    if (!asks || lines === 0) return
    const { found, missing } = await findFirst(ctx, reader)
    if (missing.length > 0) await ctx.warn(`not found: ${missing.join(', ')}`)
    const question = { action: 'delete', noun: 'record', where: instanceLabel(ctx), total: lines }
    await promptToConfirm(ctx, consentView, found, question)
  }
  const ofIds = format ?? (file === undefined ? undefined : formatOfIds(file))
  return runLineJob(ctx, { ...options, format: ofIds, approve }, deletions({ ignoreMissing }))
}

const shownRecords = 10

async function findFirst(ctx: Context, reader: Reader<object>) {
  const found: Consent[] = []
  const missing: string[] = []
  for (const id of await firstIds(reader)) {
    try {
      found.push(await ctx.api.consents.get({ params: { id } }))
    } catch (error) {
      if (exitOf(error) !== exit.notFound) throw error
      missing.push(id)
    }
  }
  return { found, missing }
}

async function firstIds(reader: Reader<object>): Promise<string[]> {
  const ids: string[] = []
  for await (const entries of reader.entries(true)) {
    for (const { draft } of entries) if (draft) ids.push((draft as { readonly id: string }).id)
    if (ids.length >= shownRecords) break
  }
  return ids.slice(0, shownRecords)
}
