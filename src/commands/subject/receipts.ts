import type { Command } from 'commander'
import * as z from 'zod'
import { action, nonEmpty } from '../../cli/action.ts'
import { subjectCommand } from '../../cli/messages.ts'
import { rejectOutputFlags } from '../../cli/output.ts'
import { Subject } from '../../cli/subjects.ts'
import type { Context } from '../../context.ts'
import { text } from '../../contract/values.ts'
import { type AnyReceipt, findAnywhere } from '../../erasure/kept.ts'
import { formatPage } from '../../erasure/page.ts'
import { findReceiptsOfTicket, isWithdrawal, requireErasure } from '../../erasure/receipts.ts'
import { formatWithdrawalPage } from '../../erasure/withdrawal-page.ts'
import { usageError } from '../../errors/errors.ts'
import { withoutEntities } from '../../output/markdown.ts'
import { findReceiptKey } from '../../receipts/signer.ts'
import { locateReceipts, type ReceiptStore } from '../../receipts/store.ts'
import { receiptView } from '../../views/subject.ts'
import { checkSignature, list } from './receipt-list.ts'

const Options = z.strictObject({
  operands: z.array(nonEmpty).max(1).default([]),
  subject: Subject.optional(),
  ticket: text(1, 100).optional(),
  format: z.enum(['json', 'md'], 'must be json or md').optional(),
})

export function receipts(command: Command, ctx: Context): void {
  command
    .argument('[receipt]', 'number, job, ticket or SHA-256 of an erasure record, or last; lists all if omitted')
    .option('--subject <id>', 'only those about this data subject')
    .option('--ticket <text>', 'only those for this ticket')
    .option('--format <json|md>', 'print its exact bytes (json) or a Markdown page (md)')
    .description(`
Lists the erasure records of the profile, and those of colleagues that the service keeps, newest first; it first
sends those of the profile that the service does not keep yet. With one, prints it byte for byte as it was signed, or
with --format md as a Markdown page. A ticket selects the newest one of the profile; --ticket lists all of them, also if
the ticket is a number. One of a colleague is selected by its ticket or the first digits of its SHA-256. A record that
shows the subject in clear text is never sent.

Examples:
  $ consentctl subject receipts --subject maria@example.com
  $ consentctl subject receipts DSR-7
  $ consentctl subject receipts 0f3ab2c4d5e6
  $ consentctl subject receipts last --format md`)
    .action(
      action(ctx, Options, receiptView, async (_, { operands: [wanted], subject, ticket, format }) => {
        if (wanted === undefined) {
          if (format) throw usageError('--format requires a receipt', 'name it: consentctl subject receipts last')
          return await list(ctx, { subject, ticket })
        }
        const filter = subject === undefined ? ticket && '--ticket' : '--subject'
        if (filter) throw usageError(`${filter} cannot be used with a receipt: it filters the list`)
        rejectOutputFlags(ctx)
        const store = locateReceipts(ctx)
        const found = await findAnywhere(ctx, store, wanted)
        await print(ctx, found, format)
        if (found.receipt.ticket === wanted) await warnOfOthers(ctx, store, wanted)
        return undefined
      }),
    )
}

async function warnOfOthers(ctx: Context, store: ReceiptStore, ticket: string): Promise<void> {
  const { length } = await findReceiptsOfTicket(store, ticket)
  if (length < 2) return
  const command = subjectCommand(ctx, 'receipts', '--ticket', ticket)
  await ctx.warn(`${length} receipts have this ticket, and this is the newest; all: ${command}`)
}

/** Prints only the bytes of a receipt with an invalid signature, because they show the change. */
async function print(ctx: Context, stored: AnyReceipt, format: 'json' | 'md' | undefined): Promise<void> {
  const { signed, error } = checkSignature(stored, await findReceiptKey(locateReceipts(ctx)))
  if (error && format === 'md') throw error
  const { out } = ctx.io
  const isRead = out.isTerminal && ctx.globals.out === undefined
  const write = () => (isWithdrawal(stored) ? formatWithdrawalPage(stored) : formatPage(requireErasure(stored)))
  const page = () => (isRead ? withoutEntities(write()) : write())
  await out.write(format === 'md' ? page() : stored.bytes.toString('latin1'))
  if (error) throw error
  if (signed === null) await ctx.warn(`its signature was not verified: it names another key, ${stored.receipt.key_id}`)
}
