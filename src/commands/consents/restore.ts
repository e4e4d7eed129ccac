import type { Command } from 'commander'
import * as z from 'zod'
import { action, Ids } from '../../cli/action.ts'
import { addDryRunFlag, dryRunOption, dryRunOutput, viewUnlessDryRun } from '../../cli/dry-run.ts'
import { expandIds, runForEach } from '../../cli/ids.ts'
import { callOptional, formatCount, instanceLabel } from '../../cli/messages.ts'
import { many } from '../../cli/output.ts'
import type { Context } from '../../context.ts'
import type { Consent } from '../../contract/index.ts'
import { restore as endpoint, type Restoration } from '../../contract/restore.ts'
import { explain } from '../../errors/explain.ts'
import { consentView } from '../../views/consent.ts'

const Options = z.strictObject({ ...dryRunOption, operands: Ids, despiteErasure: z.literal(true).optional() })

export function restore(command: Command, ctx: Context): void {
  addDryRunFlag(command.argument('<id...>', 'ids of deleted records; - reads them from standard input'))
    .option('--despite-erasure', 'also restore records that an erasure request covers')
    .description(`
A deleted record can be restored until its personal data is purged (by default 30 days after the deletion). Its history
keeps the deletion and the restore. A live record is not changed. Retention counts from the restore.

A record that "subject erase" covers is restored only with --despite-erasure, so that an erasure is not undone by
mistake; its history then says so.

Examples:
  $ consentctl restore 01939d2c-7b1a-7c3e-9a51-2f6a1f0d9b11
  $ consentctl restore - < ids.txt`)
    .action(action(ctx, Options, viewUnlessDryRun(consentView), run))
}

async function run(ctx: Context, { operands, despiteErasure, dryRun }: z.output<typeof Options>) {
  const ids = await expandIds(ctx, operands)
  const body = despiteErasure ? { despite_erasure: true } : {}
  if (dryRun)
    return dryRunOutput(
      ctx,
      ids.map(id => ({ endpoint, params: { id }, body })),
    )
  const live: string[] = []
  const restoreOne = async (id: string): Promise<Consent[]> => {
    const found = await findLive(ctx, id)
    if (found) live.push(id)
    return [found ?? (await send(ctx, id, body))]
  }
  const { pages, exit } = runForEach(ctx, ids, restoreOne, async done => {
    await ctx.say(`restored ${formatCount(done - live.length)} on ${instanceLabel(ctx)}`)
    if (live.length > 0) await ctx.say(`not deleted, so nothing was restored: ${live.join(', ')}`)
  })
  return many(consentView, pages, { mutates: true, exit, single: operands.length === 1 && operands[0] !== '-' })
}

/** Null for a deleted or unknown record, or if the key lacks the scope. */
async function findLive(ctx: Context, id: string): Promise<Consent | null> {
  try {
    return await ctx.api.consents.get({ params: { id } })
  } catch (error) {
    const { status } = explain(error)
    if (status === 403 || status === 404) return null
    throw error
  }
}

async function send(ctx: Context, id: string, body: Restoration): Promise<Consent> {
  return await callOptional(ctx.api, endpoint, () => ctx.api.call(endpoint, { params: { id }, body }), {
    message: `${instanceLabel(ctx)} cannot restore records`,
    hint: 'consentctl get ID --include-deleted shows what is left of one, if the instance shows it',
  })
}
