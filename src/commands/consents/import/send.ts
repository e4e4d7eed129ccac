import { readFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promptToConfirm, requireConfirmedCount } from '../../../cli/confirm.ts'
import { formatCount, instanceLabel } from '../../../cli/messages.ts'
import { many, type Output } from '../../../cli/output.ts'
import type { Context } from '../../../context.ts'
import { ImportAbout, ImportReceipt } from '../../../contract/documents/import-receipt.ts'
import { CliError, dataError, type Exit, exit, usageError } from '../../../errors/errors.ts'
import { readSigned, signDocument } from '../../../evidence/signed.ts'
import { type OutFile, openOutFile } from '../../../io/new-file.ts'
import { openSigner, type Signer } from '../../../receipts/signer.ts'
import {
  appendToChain,
  listNumbers,
  locateImportReceipts,
  type ReceiptStore,
  receiptPath,
} from '../../../receipts/store.ts'
import { type ImportedRow, importedView } from '../../../views/import.ts'
import { lineJobs } from '../bulk/job.ts'
import type { Counts, LineJob, LineJobOptions } from '../bulk/operation.ts'
import { exitOf, newProgress, type Progress } from '../bulk/progress.ts'
import { sendLines } from '../bulk/run.ts'
import type { Destination } from './destination.ts'
import { imports, type Refusal } from './imports.ts'
import { describePrepared, type Prepared } from './prepare/prepared.ts'

interface SendOptions {
  readonly site?: string | undefined
  readonly policyVersion?: number | undefined
  readonly timezone?: string | undefined
  readonly csvUnguard?: true | undefined
  readonly refusedOut?: string | undefined
  readonly failedOut?: string | undefined
  readonly receiptOut?: string | undefined
  readonly ignoreQuota?: true | undefined
  readonly confirm?: number | undefined
}

interface Sending extends Destination {
  readonly options: SendOptions
  readonly site: string
  readonly asks: boolean
  readonly format: string
  readonly system: string
  readonly prepared: Prepared
}

export async function sendPrepared(ctx: Context, sending: Sending): Promise<Output<ImportedRow>> {
  const { signer, mayBegin, options, site, prepared } = sending
  const approve = async (lines: number) => {
    requireConfirmedCount(options, lines, 'record', 'imported')
    if (sending.asks) await confirm(ctx, sending)
    await delay(Math.max(0, mayBegin - performance.now()))
  }
  if (prepared.path === null) {
    await ctx.warn(
      `no record to import: ${describePrepared(prepared, options.refusedOut).join('; ')}; nothing was sent`,
    )
    return many(importedView, noPages(), { exit: () => (prepared.counts.refused > 0 ? exit.rejected : exit.done) })
  }
  const file = { file: prepared.path, workFolder: dirname(prepared.path), approve }
  return await send(ctx, options, { signer, site, about: toAbout(sending), file })
}

/** @throws CliError other_account (exit 10) */
export async function resumeSending(ctx: Context, options: SendOptions, wanted: string): Promise<Output<ImportedRow>> {
  const jobs = lineJobs(ctx, 'import')
  const job = await jobs.find(wanted)
  const header = await jobs.readHeader(job)
  const { data: about } = ImportAbout.safeParse(header.about)
  if (!about)
    throw usageError(
      `job ${job} was started by consentctl ${header.command}, not by import`,
      `to resume it: consentctl ${header.command} --resume ${job}`,
    )
  const signer = await openSigner(ctx, locateImportReceipts(ctx))
  const isOther = about.account_id !== null && signer.account_id !== null && about.account_id !== signer.account_id
  if (isOther)
    throw new CliError(
      'other_account',
      exit.changed,
      `the key is of the account ${signer.account_id}, and the job of ${about.account_id}: nothing was sent`,
      { hint: 'resume it with a key of the account that it was started with' },
    )
  const names = about.files.map(({ name }) => name).join(', ')
  await ctx.say(`resuming the import of ${names} of ${about.started_at}`)
  const file = { resume: job }
  const receiptOut = await findReceiptPath(signer, job, options.receiptOut ?? header.receipt_out)
  return await send(ctx, { ...options, receiptOut }, { signer, site: undefined, about, file })
}

/** Undefined if an earlier run wrote the copy. */
async function findReceiptPath({ store }: Signer, job: string, path: string | undefined): Promise<string | undefined> {
  if (path === undefined) return undefined
  const made = await findImportReceipt(store, job)
  const present = await readFile(path).catch(() => null)
  return made && present?.equals(made.bytes) ? undefined : path
}

interface Import {
  readonly signer: Signer
  readonly site: string | undefined
  readonly about: ImportAbout
  readonly file: LineJobOptions
}

async function send(ctx: Context, options: SendOptions, { signer, site, about, file }: Import) {
  const progress = newProgress(ctx)
  const { failedOut, receiptOut, ignoreQuota } = options
  const copy = receiptOut === undefined ? null : await openOutFile(receiptOut, '--receipt-out')
  let stored: StoredImportReceipt | null = null
  const operation = imports({
    site,
    about,
    receiptOut: receiptOut && resolve(receiptOut),
    beganAt: Date.parse(about.began_at),
    complete: async (job, counts, refusals) => {
      await job.state?.requireHeld()
      stored = await makeImportReceipt(signer, { job, about, counts, refusals })
      await copyReceipt(stored, copy) // before the job is removed, for resumed runs
    },
  })
  const lineOptions: LineJobOptions = { ...file, site, concurrency, failedOut, ignoreQuota, allowEmpty: true }
  async function* pages(): AsyncGenerator<readonly ImportedRow[]> {
    try {
      for await (const _ of sendLines(ctx, operation, lineOptions, progress));
      if (stored === null) return
      if (toExit(progress, about) === exit.partial) await ctx.warn(describeRefused(about, progress, options.refusedOut))
      yield [toRow(stored)]
    } finally {
      await copy?.abandon(false)
    }
  }
  return many(importedView, pages(), { single: true, mutates: true, exit: () => toExit(progress, about) })
}

const concurrency = 4

async function copyReceipt({ bytes }: StoredImportReceipt, copy: OutFile | null): Promise<void> {
  if (!copy) return
  await copy.write(bytes)
  await copy.commit()
}

function toExit(progress: Progress, { rows }: ImportAbout): Exit {
  const { signalExit, stopExit, broken, unfinished } = progress
  const code = exitOf(progress)
  if (signalExit === null && broken === null && unfinished > 0) return stopExit ?? exit.temporary
  return code === exit.done && rows.refused > 0 ? exit.partial : code
}

function describeRefused({ rows }: ImportAbout, { failed }: Progress, refusedOut: string | undefined): string {
  const parts = [
    ...(rows.refused > 0 ? [`${formatCount(rows.refused, 'row')} refused when the files were read`] : []),
    ...(failed > 0 ? [`${formatCount(failed)} refused by the instance`] : []),
  ]
  const list = refusedOut ?? 'the import with --dry-run --refused-out FILE'
  const more = rows.refused > 0 ? `; ${list} lists the rows` : ''
  return `the exit code is ${exit.partial}: ${parts.join(', ')}${more}`
}

function toAbout({ signer, options, prepared, format, system, startedAt, beganAt }: Sending): ImportAbout {
  const { files, mapSha256, counts, leftOut, refused, given } = prepared
  return {
    account_id: signer.account_id,
    format,
    system,
    map_sha256: mapSha256,
    policy_version: options.policyVersion ?? null,
    timezone: options.timezone ?? null,
    csv_unguard: options.csvUnguard ?? false,
    files: files.map(({ name, bytes, sha256 }) => ({ name, size: bytes, sha256 })),
    rows: counts,
    left_out: leftOut.map(({ table, value, count }) => ({ table, value, rows: count })),
    refused_rows: Object.entries(refused).map(([reason, rows]) => ({ reason, rows })),
    first_given_at: given?.first ?? null,
    last_given_at: given?.last ?? null,
    started_at: startedAt.toISOString(),
    began_at: beganAt.toISOString(),
  }
}

function toRow({ path, receipt }: StoredImportReceipt): ImportedRow {
  const { number, job, rows, records, first_given_at, last_given_at } = receipt
  const { made, known, refused } = records
  const { read, left_out, refused: refused_rows } = rows
  return {
    receipt: path,
    number,
    job,
    read,
    left_out,
    refused_rows,
    made,
    known,
    refused,
    first_given_at,
    last_given_at,
  }
}

async function confirm(ctx: Context, { prepared, site, options }: Sending): Promise<void> {
  const where = instanceLabel(ctx)
  const name = options.site && options.site !== site ? `${options.site} (${site})` : site
  const notes = [...describePrepared(prepared, options.refusedOut), `to the site ${name}`]
  await promptToConfirm(ctx, importedView, [], {
    ...{ action: 'import', noun: 'record', where, notes, total: prepared.counts.records },
  })
}

async function* noPages(): AsyncGenerator<readonly never[]> {}

interface StoredImportReceipt {
  readonly path: string
  readonly bytes: Buffer
  readonly receipt: ImportReceipt
}

/** All records are created, known or rejected. */
interface FinishedImport {
  readonly job: LineJob
  readonly about: ImportAbout
  readonly counts: Counts
  readonly refusals: readonly Refusal[]
}

/** Idempotent. @throws CliError if the chain is damaged */
async function makeImportReceipt(
  signer: Signer,
  { job: { state, operation, extent }, about, counts, refusals }: FinishedImport,
): Promise<StoredImportReceipt> {
  if (!state || !extent) throw new Error('an import without a job has no receipt')
  const { store, key, instance, profile, who, host, account_id, api_key_id } = signer
  const { job } = state
  const { done: made, unanswered: made_unanswered, unchanged: known, failed: refused } = counts
  const earlier = await findImportReceipt(store, job)
  if (earlier) return earlier
  const finished_at = new Date().toISOString()
  const make = (number: number, previous: ImportReceipt['previous']) => {
    const receipt: ImportReceipt = {
      type: 'import_receipt',
      version: 1,
      key_id: key.id,
      number,
      job,
      instance,
      profile,
      who,
      host,
      api_key_id,
      ...about,
      account_id: about.account_id ?? account_id,
      site_id: String(operation.defaults['site_id']),
      sent_sha256: extent.sha256,
      records: { made, made_unanswered, known, refused },
      refused_records: [...refusals],
      finished_at,
      previous,
    }
    return signDocument(receipt, key.key)
  }
  return await appendToChain(store, { job, make, read: readImportReceipt })
}

function readImportReceipt(path: string, bytes: Buffer): StoredImportReceipt {
  try {
    const { document } = readSigned(bytes)
    const { data, error } = ImportReceipt.safeParse(document)
    const issue = error?.issues[0]
    if (!data) throw new SyntaxError(`is not an import receipt (${issue?.path.join('.')}: ${issue?.message})`)
    return { path, bytes, receipt: data }
  } catch (error) {
    if (error instanceof SyntaxError) throw dataError(`${path} ${error.message}`)
    throw error
  }
}

async function findImportReceipt(store: ReceiptStore, job: string): Promise<StoredImportReceipt | null> {
  for (const number of (await listNumbers(store)).reverse()) {
    const path = receiptPath(store, number)
    const found = readImportReceipt(path, await readFile(path))
    if (found.receipt.job === job) return found
  }
  return null
}
