import type { Command } from 'commander'
import * as z from 'zod'
import { action, Ids, nonEmpty } from '../../cli/action.ts'
import { expandIds, runForEach } from '../../cli/ids.ts'
import { many, type Output, reportInvalid } from '../../cli/output.ts'
import type { Context } from '../../context.ts'
import type { AuditEntry } from '../../contract/index.ts'
import { exit } from '../../errors/errors.ts'
import { auditView, describeEvents, type EventText } from '../../views/consent.ts'
import { type VerificationRow, verificationView } from '../../views/verification.ts'
import type { Anchor } from './anchor.ts'

const Options = z
  .strictObject({ operands: Ids, verify: z.literal(true).optional(), checkpoint: nonEmpty.optional() })
  .refine(({ verify, checkpoint }) => verify || checkpoint === undefined, '--checkpoint needs --verify')

export function history(command: Command, ctx: Context): void {
  command
    .argument('<id...>', 'ids of records; - reads them from standard input')
    .option('--verify', 'verify the history of each record instead of showing it')
    .option('--checkpoint <file>', 'with --verify, also prove that the log of a saved checkpoint includes it')
    .description(`
Shows the entries of a record, oldest first; each is the state after the event.

--verify computes the hash chain from the response of the instance, and finds entries that were changed, moved,
removed or inserted. This proves only that the history is consistent: anyone who can write to the database could
have rewritten all of it. With --checkpoint the instance must also prove that the history is in the log of the
newest checkpoint in the file (see admin checkpoint, and GET /api/v1/log/checkpoint), and that the log has only
grown since; versions without proof are listed, and must not be dated before the checkpoint. A record newer than the
checkpoint is "not_covered": consistent, but not proved to be in the log.
Entries removed from the end after the checkpoint can only be found in the instance's database: see consentctl
admin verify. The exit code is 5 unless every history that the checkpoint covers verifies; a history without hashes
does not. -q prints the ids of the records that do not verify.

Examples:
  $ consentctl history 01939d2c-7b1a-7c3e-9a51-2f6a1f0d9b11
  $ consentctl history 01939d2c-7b1a-7c3e-9a51-2f6a1f0d9b11 --verify
  $ consentctl history 01939d2c-7b1a-7c3e-9a51-2f6a1f0d9b11 --verify --checkpoint checkpoints.txt`)
    .action(
      action(
        ctx,
        Options,
        ({ verify }) => (verify ? verificationView : auditView()),
        async (_, { operands, verify, checkpoint }) => {
          const ids = await expandIds(ctx, operands)
          if (verify) return await verified(ctx, ids, checkpoint)
          const texts = new WeakMap<AuditEntry, EventText>()
          const { pages, exit } = runForEach(ctx, ids, async id => {
            const entries = await historyOf(ctx, id)
            for (const [index, text] of describeEvents(entries).entries()) texts.set(entries[index] as AuditEntry, text)
            return entries
          })
          const view = auditView(entry => texts.get(entry), ids.length > 1)
          return many(view, pages, { exit })
        },
      ),
    )
}

async function historyOf(ctx: Context, id: string) {
  return (await ctx.api.consents.history({ params: { id } })).data
}

async function verified(
  ctx: Context,
  ids: readonly string[],
  checkpoint: string | undefined,
): Promise<Output<VerificationRow>> {
  const { verifyAudit } = await import('../../evidence/history.ts')
  const { openAnchor } = await import('./anchor.ts')
  const anchor = checkpoint === undefined ? null : await openAnchor(ctx, checkpoint)
  let wrong = 0
  let newer = 0
  const { pages, exit: exitOf } = runForEach(ctx, ids, async id => {
    const entries = await historyOf(ctx, id)
    const alone = verifyAudit(id.toLowerCase(), entries)
    const verified = anchor && alone.result === 'ok' ? await anchor.verify(id.toLowerCase(), entries) : alone
    const { result } = verified
    if (result === 'not_covered') newer += 1
    else if (result !== 'ok') wrong += 1
    return [{ id, entries: entries.length, ...verified, basis: describeBasis(result, anchor) }]
  })
  return many(verificationView, pages, {
    exit: () => (wrong > 0 ? exit.rejected : exitOf()),
    footer: async () => {
      if (newer > 0) await ctx.warn(describeNewer(newer, ids.length))
      if (wrong > 0)
        await reportInvalid(ctx, `${wrong} of ${ids.length} histories ${wrong === 1 ? 'does' : 'do'} not verify`)
    },
  })
}

function describeBasis(result: VerificationRow['result'], anchor: Anchor | null): string | null {
  if (result === 'ok' && anchor) return anchor.basis
  return result === 'ok' || result === 'not_covered' ? 'consistent in itself' : null
}

function describeNewer(count: number, total: number): string {
  const are = count === 1 ? 'is' : 'are'
  return `${count} of ${total} histories ${are} newer than the checkpoint: consistent in ${count === 1 ? 'itself' : 'themselves'}, and not proved to be in the log`
}
