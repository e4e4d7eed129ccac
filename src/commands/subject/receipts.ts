import type { Command } from 'commander'
import * as z from 'zod'
import { action, nonEmpty } from '../../cli/action.ts'
import { formatCount, subjectCommand } from '../../cli/messages.ts'
import { countedList, type Output, rejectOutputFlags } from '../../cli/output.ts'
import type { Context } from '../../context.ts'
import { isAbout, isSigned } from '../../erasure/check.ts'
import { unfinishedJobs } from '../../erasure/journals.ts'
import { findReceiptKey, keyFile, type ReceiptKey } from '../../erasure/keys.ts'
import { pageOf } from '../../erasure/page.ts'
import { allReceipts, receiptsFolder, type StoredReceipt } from '../../erasure/receipts.ts'
import { storedReceipt } from '../../erasure/wanted.ts'
import { CliError, dataError, type Exit, exit, usageError } from '../../errors/errors.ts'
import { report } from '../../errors/report.ts'
import { type ReceiptRow, receiptView } from '../../views/subject.ts'
import { Subject } from './subjects.ts'

const Options = z.strictObject({
  operands: z.array(nonEmpty).max(1).default([]),
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
        rejectOutputFlags(ctx)
        const stored = await storedReceipt(ctx, wanted)
        await print(ctx, stored, format)
        return undefined
      }),
    )
}

/** As a page nothing is printed that is not as it was signed; the bytes are, for whoever wants to see what was changed. */
async function print(ctx: Context, stored: StoredReceipt, format: 'json' | 'md' | undefined): Promise<void> {
  const { signed, error } = lookAt(stored, await findReceiptKey(ctx))
  if (error && format === 'md') throw error
  await ctx.io.out.write(format === 'md' ? pageOf(stored) : stored.bytes.toString('latin1'))
  if (error) throw error
  if (signed === null)
    await ctx.warn(`its signature was not checked: it is signed by another key, ${stored.receipt.key_id}`)
}

/** Whether a receipt is signed by the key of the profile; null where it names another one. */
function lookAt(
  stored: StoredReceipt,
  key: ReceiptKey | null,
): { readonly signed: boolean | null; readonly error: CliError | null } {
  const signed = isSigned(stored, key ? [key.key] : [])
  const { number } = stored.receipt
  const hint = `consentctl subject verify ${number}`
  const error = signed === false ? dataError(`the signature of receipt ${number} is not valid`, hint) : null
  return { signed, error }
}

async function list(ctx: Context, subject: string | undefined): Promise<Output<ReceiptRow>> {
  const key = await findReceiptKey(ctx)
  const rows: ReceiptRow[] = []
  let code: Exit = exit.done
  let [unchecked, unknown] = [0, 0]
  for await (const found of allReceipts(receiptsFolder(ctx))) {
    const { signed, error } = found instanceof CliError ? { signed: null, error: found } : lookAt(found, key)
    if (error) {
      code = exit.partial
      await report(ctx, error)
    }
    if (error || found instanceof CliError) continue
    if (signed === null) unchecked += 1
    const about = subject === undefined || isAbout(found.receipt, subject, key)
    if (about) rows.push(rowOf(found))
    if (about === null) unknown += 1
  }
  if (unchecked > 0) {
    const are = `${formatCount(unchecked, 'receipt')} ${unchecked === 1 ? 'is' : 'are'} signed by another key`
    const untold =
      unknown > 0 ? `; ${unknown} may be about anybody, and ${unknown === 1 ? 'is' : 'are'} left out` : ''
    await ctx.warn(`${are} than ${keyFile(ctx)}, and not checked${untold}`)
  }
  if (unknown > 0) code = exit.partial
  for (const { job, ticket } of await unfinishedJobs(ctx))
    await ctx.warn(`${ticket} is not finished and has no receipt: ${subjectCommand(ctx, 'resume', job)}`)
  return { ...countedList(ctx, receiptView, rows, 'receipt'), exit: () => code }
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
