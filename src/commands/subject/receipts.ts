import type { Command } from 'commander'
import * as z from 'zod'
import { action, nonEmpty } from '../../cli/action.ts'
import { formatCount, subjectCommand } from '../../cli/messages.ts'
import { countedList, type Output, rejectOutputFlags } from '../../cli/output.ts'
import { Subject } from '../../cli/subjects.ts'
import type { Context } from '../../context.ts'
import { text } from '../../contract/values.ts'
import { unfinishedJobs } from '../../erasure/job.ts'
import { formatPage } from '../../erasure/page.ts'
import {
  allReceipts,
  findReceipt,
  findReceiptsOfTicket,
  isAbout,
  isSigned,
  isWithdrawal,
  requireErasure,
  type StoredReceipt,
} from '../../erasure/receipts.ts'
import { formatWithdrawalPage } from '../../erasure/withdrawal-page.ts'
import { CliError, dataError, exit, usageError } from '../../errors/errors.ts'
import { report } from '../../errors/report.ts'
import { withoutEntities } from '../../output/markdown.ts'
import { findReceiptKey, type ReceiptKey } from '../../receipts/signer.ts'
import { locateReceipts, type ReceiptStore } from '../../receipts/store.ts'
import { type ReceiptRow, receiptView } from '../../views/subject.ts'
import { formatPeople } from './run.ts'

const Options = z.strictObject({
  operands: z.array(nonEmpty).max(1).default([]),
  subject: Subject.optional(),
  ticket: text(1, 100).optional(),
  format: z.enum(['json', 'md'], 'must be json or md').optional(),
})

export function receipts(command: Command, ctx: Context): void {
  command
    .argument('[receipt]', 'number, job or ticket of an erasure record, or last; lists all if omitted')
    .option('--subject <id>', 'only those about this data subject')
    .option('--ticket <text>', 'only those for this ticket')
    .option('--format <json|md>', 'print its exact bytes (json) or a Markdown page (md)')
    .description(`
Lists the erasure records of the profile, newest first. With one, prints it byte for byte as it was signed, or with
--format md as a Markdown page. A ticket selects its newest one; --ticket lists all of them, also if the ticket
is a number.

Examples:
  $ consentctl subject receipts --subject maria@example.com
  $ consentctl subject receipts DSR-7
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
        const found = await findReceipt(store, wanted)
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
async function print(ctx: Context, stored: StoredReceipt, format: 'json' | 'md' | undefined): Promise<void> {
  const { signed, error } = checkSignature(stored, await findReceiptKey(locateReceipts(ctx)))
  if (error && format === 'md') throw error
  const { out } = ctx.io
  const isRead = out.isTerminal && ctx.globals.out === undefined
  const write = () => (isWithdrawal(stored) ? formatWithdrawalPage(stored) : formatPage(requireErasure(stored)))
  const page = () => (isRead ? withoutEntities(write()) : write())
  await out.write(format === 'md' ? page() : stored.bytes.toString('latin1'))
  if (error) throw error
  if (signed === null)
    await ctx.warn(`its signature was not verified: it is signed by another key, ${stored.receipt.key_id}`)
}

/** `signed`: null for another key than the profile's. */
function checkSignature(stored: StoredReceipt | CliError, key: ReceiptKey | null) {
  if (stored instanceof CliError) return { signed: null, error: stored }
  const signed = isSigned(stored, key ? [key.key] : [])
  const { number } = stored.receipt
  const hint = `consentctl subject verify ${number}`
  return { signed, error: signed === false ? dataError(`the signature of receipt ${number} is invalid`, hint) : null }
}

interface Filter {
  readonly subject: string | undefined
  readonly ticket: string | undefined
}

async function list(ctx: Context, filter: Filter): Promise<Output<ReceiptRow>> {
  const store = locateReceipts(ctx)
  const key = await findReceiptKey(store)
  const rows: ReceiptRow[] = []
  const made = new Set<string>()
  let invalid = 0
  let unchecked = 0
  let unknown = 0
  for await (const found of allReceipts(store)) {
    const { signed, error } = checkSignature(found, key)
    if (error || found instanceof CliError) {
      invalid += 1
      await report(ctx, error)
      continue
    }
    made.add(found.receipt.job)
    if (signed === null) unchecked += 1
    const matches = isWanted(found, filter, key)
    if (matches) rows.push(rowOf(found))
    if (matches === null) unknown += 1
  }
  if (unchecked > 0) await ctx.warn(describeUnchecked(unchecked, unknown, store.keyFile))
  await warnOfUnfinished(ctx, made)
  const code = invalid + unknown > 0 ? exit.partial : exit.done
  return { ...countedList(ctx, receiptView, rows, 'receipt'), exit: () => code }
}

/** Null if only another private key could tell. */
function isWanted({ receipt }: StoredReceipt, { subject, ticket }: Filter, key: ReceiptKey | null): boolean | null {
  if (ticket !== undefined && receipt.ticket !== ticket) return false
  return subject === undefined || isAbout(receipt, subject, key)
}

async function warnOfUnfinished(ctx: Context, made: ReadonlySet<string>): Promise<void> {
  for (const { job, source, people, withdrawal } of await unfinishedJobs(ctx)) {
    const missing = made.has(job) ? 'its receipt is not in the register' : 'has no receipt'
    const noun = withdrawal ? 'withdrawal' : 'erasure'
    const what =
      source === null
        ? (people[0]?.ticket ?? `${withdrawal ? 'a' : 'an'} ${noun}`)
        : `the ${noun} of ${source} (${formatPeople(people.length)})`
    await ctx.warn(
      `${what} is not finished${source === null ? ` and ${missing}` : ''}: ${subjectCommand(ctx, 'resume', job)}`,
    )
  }
}

function describeUnchecked(unchecked: number, unknown: number, keyFile: string): string {
  const are = `${formatCount(unchecked, 'receipt')} ${unchecked === 1 ? 'is' : 'are'} signed by another key`
  const untold = unknown > 0 ? `; ${unknown} may be about anybody, and ${unknown === 1 ? 'is' : 'are'} left out` : ''
  return `${are} than ${keyFile}, and not checked${untold}`
}

function rowOf({ receipt }: StoredReceipt): ReceiptRow {
  const { number, job, ticket, instance, verification, result } = receipt
  const row = { number, job, ticket, instance, remaining: verification.remaining.length }
  if (receipt.type === 'withdrawal_receipt') {
    const { finished_at, counts } = receipt
    return { ...row, finished_at, deleted: 0, already_gone: counts.gone, result }
  }
  const { purge, counts } = receipt
  return {
    ...row,
    finished_at: (purge ?? receipt).finished_at,
    deleted: counts.deleted,
    already_gone: counts.already_gone,
    result: purge ? 'purged' : result,
  }
}
