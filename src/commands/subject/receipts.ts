import type { Command } from 'commander'
import * as z from 'zod'
import type { Context } from '../../context.ts'
import { CliError, usageError } from '../../errors/errors.ts'
import { type Exit, exit } from '../../errors/exit.ts'
import { report } from '../../errors/report.ts'
import { isAbout } from '../../subject/check.ts'
import { unfinishedJobs } from '../../subject/journals.ts'
import { findReceiptKey, keyFile } from '../../subject/keys.ts'
import { pageOf } from '../../subject/page.ts'
import { allReceipts, receiptsFolder, type StoredReceipt } from '../../subject/receipts.ts'
import { storedReceipt } from '../../subject/wanted.ts'
import { type ReceiptRow, receiptView } from '../../views/subject.ts'
import { action, given } from '../action.ts'
import { counted } from '../instance.ts'
import { countedRows, type Output } from '../output.ts'
import { refuseChoice } from '../presentation.ts'
import { commandLine } from './command-line.ts'
import { Subject } from './subjects.ts'

const Options = z.strictObject({
  operands: z.array(given).max(1).default([]),
  subject: Subject.optional(),
  format: z.enum(['json', 'md'], 'must be json or md').optional(),
})

/** `subject receipts`: the proofs of the erasures of a profile. */
export function receipts(command: Command, ctx: Context): void {
  command
    .argument('[receipt]', 'the number of one, its job, or last; without it all are listed')
    .option('--subject <id>', 'only those about this data subject')
    .option('--format <json|md>', 'print one: its exact bytes (json), or a page for the ticket (md)')
    .addHelpText(
      'after',
      `
Lists the receipts of the profile, newest first. One that is named is printed byte for byte, as it was
signed, or with --format md as a page in Markdown.

Examples:
  $ consentctl subject receipts --subject maria@example.com
  $ consentctl subject receipts last --format md`,
    )
    .action(
      action(ctx, Options, receiptView, async (_, { operands: [wanted], subject, format }) => {
        if (wanted === undefined) {
          if (format)
            throw usageError('--format goes with one receipt', 'name it: consentctl subject receipts last')
          return await list(ctx, subject)
        }
        if (subject !== undefined) throw usageError('--subject goes with the list')
        refuseChoice(ctx)
        const stored = await storedReceipt(ctx, wanted)
        await ctx.io.out.write(format === 'md' ? pageOf(stored) : stored.bytes.toString('latin1'))
        return undefined
      }),
    )
}

async function list(ctx: Context, subject: string | undefined): Promise<Output<ReceiptRow>> {
  const key = subject === undefined ? null : await findReceiptKey(ctx)
  const rows: ReceiptRow[] = []
  let code: Exit = exit.done
  let unknown = 0
  for await (const stored of allReceipts(receiptsFolder(ctx))) {
    if (stored instanceof CliError) {
      code = exit.partial
      await report(ctx, stored)
      continue
    }
    const about = subject === undefined || isAbout(stored.receipt, subject, key)
    if (about) rows.push(rowOf(stored))
    if (about === null) unknown += 1
  }
  if (unknown > 0) {
    code = exit.partial
    const are = `${counted(unknown, 'receipt')} ${unknown === 1 ? 'is' : 'are'}`
    await ctx.warn(`${are} signed by another key than ${keyFile(ctx)}, and may be about anybody`)
  }
  for (const { job, ticket } of await unfinishedJobs(ctx))
    await ctx.warn(`${ticket} is not finished and has no receipt: ${commandLine(ctx, 'resume', job)}`)
  return { ...countedRows(ctx, receiptView, rows, 'receipt'), exit: () => code }
}

function rowOf({ receipt }: StoredReceipt): ReceiptRow {
  const { number, job, ticket, instance, finished_at, counts, verification, result } = receipt
  return {
    number,
    job,
    ticket,
    instance,
    finished_at,
    deleted: counts.deleted + counts.deleted_in_bulk,
    already_gone: counts.already_gone,
    remaining: verification.live,
    result,
  }
}
