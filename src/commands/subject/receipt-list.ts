import { formatCount, subjectCommand } from '../../cli/messages.ts'
import { countedList, type Output } from '../../cli/output.ts'
import type { Context } from '../../context.ts'
import { findAccountHmacs, newMatcher, type SubjectMatcher } from '../../erasure/hmacs.ts'
import { unfinishedJobs } from '../../erasure/job.ts'
import { type AnyReceipt, asksForKept, everyReceipt, type Kept, readKept, sendUnkept } from '../../erasure/kept.ts'
import { isSigned, type StoredReceipt } from '../../erasure/receipts.ts'
import { CliError, dataError, exit } from '../../errors/errors.ts'
import { explain } from '../../errors/explain.ts'
import { report } from '../../errors/report.ts'
import { findReceiptKey, type ReceiptKey } from '../../receipts/signer.ts'
import { locateReceipts, sha256 } from '../../receipts/store.ts'
import { type ReceiptRow, receiptView } from '../../views/subject.ts'
import { formatPeople } from './run.ts'

/** `signed`: null for a key that neither the profile nor the service has. */
export function checkSignature(stored: AnyReceipt | CliError, key: ReceiptKey | null) {
  if (stored instanceof CliError) return { signed: null, error: stored }
  const signed = isSigned(stored, [key?.key ?? [], stored.known?.key ?? []].flat())
  const { number } = stored.receipt
  const hint = `consentctl subject verify ${number}`
  return { signed, error: signed === false ? dataError(`the signature of receipt ${number} is invalid`, hint) : null }
}

interface Filter {
  readonly subject: string | undefined
  readonly ticket: string | undefined
}

/** Lists those of the profile and those that the service keeps, newest first. */
export async function list(ctx: Context, filter: Filter): Promise<Output<ReceiptRow>> {
  const store = locateReceipts(ctx)
  const key = await findReceiptKey(store)
  const kept = await sendAndRead(ctx, filter)
  const matcher = newMatcher(kept && ctx.api, key)
  const rows: ReceiptRow[] = []
  const made = new Set<string>()
  const counts = { invalid: 0, unchecked: 0, unknown: 0 }
  for await (const { found, isLocal } of everyReceipt(store, kept)) {
    const { signed, error } = checkSignature(found, key)
    if (error || found instanceof CliError) {
      counts.invalid += 1
      await report(ctx, error)
      continue
    }
    if (isLocal) made.add(found.receipt.job)
    if (signed === null) counts.unchecked += 1
    const matches = await isWanted(found, filter, matcher)
    if (matches) rows.push(toRow(found, isLocal, kept))
    if (matches === null) counts.unknown += 1
  }
  if (rows.some(row => !row.local)) rows.sort((a, b) => Date.parse(b.finished_at) - Date.parse(a.finished_at))
  await warnOfUnchecked(ctx, counts, store.keyFile)
  await warnOfUnfinished(ctx, made)
  const code = counts.invalid + counts.unknown > 0 ? exit.partial : exit.done
  return { ...countedList(ctx, receiptView, rows, 'receipt'), exit: () => code }
}

/** Null if the service cannot be asked, or does not list them to this key. */
async function sendAndRead(ctx: Context, { subject, ticket }: Filter): Promise<Kept | null> {
  if (!(await asksForKept(ctx))) return null
  try {
    await sendUnkept(ctx, locateReceipts(ctx))
    const hmac = subject === undefined ? undefined : (await findAccountHmacs(ctx.api, [subject]))?.subject_hmacs[0]
    const query = { ...(hmac !== undefined && { subject_hmac: hmac }), ...(ticket !== undefined && { ticket }) }
    return await readKept(ctx, query)
  } catch (error) {
    const { code, message } = explain(error)
    if (code !== 'forbidden') throw error
    await ctx.warn(`only the records of this machine are listed: ${message}`)
    return null
  }
}

/** Null if only another key could tell. */
async function isWanted(
  { receipt }: StoredReceipt,
  { subject, ticket }: Filter,
  matcher: SubjectMatcher,
): Promise<boolean | null> {
  if (ticket !== undefined && receipt.ticket !== ticket) return false
  return subject === undefined || (await matcher.isAbout(receipt, subject))
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

async function warnOfUnchecked(
  { warn }: Pick<Context, 'warn'>,
  { unchecked, unknown }: { readonly unchecked: number; readonly unknown: number },
  keyFile: string,
): Promise<void> {
  const are = `${formatCount(unchecked, 'receipt')} ${unchecked === 1 ? 'names' : 'name'} another key`
  const left = `${formatCount(unknown, 'receipt')} may be about anybody, and ${unknown === 1 ? 'is' : 'are'} left out`
  const parts = [unchecked > 0 && `${are} than ${keyFile}, and not checked`, unknown > 0 && left].filter(Boolean)
  if (parts.length > 0) await warn(parts.join('; '))
}

function toRow({ receipt, bytes }: StoredReceipt, local: boolean, kept: Kept | null): ReceiptRow {
  const { number, job, ticket, instance, verification, result, profile, who, host } = receipt
  const digest = sha256(bytes)
  const row = {
    ...{ number, job, ticket, instance, remaining: verification.remaining.length, profile, who, host },
    ...{ sha256: digest, local, kept: kept?.byDigest.has(digest) ?? null },
  }
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
