import { randomUUID } from 'node:crypto'
import type { Context } from '../../../context.ts'
import { CliError, exit, usageError } from '../../../errors/errors.ts'
import { requireSameOrigin } from '../../../settings/job-origin.ts'
import { requireBaseUrl } from '../../../settings/settings.ts'
import { type Extent, requireQuota, validate } from './check.ts'
import {
  type BulkJournals,
  bulkJournals,
  commandOf,
  type Header,
  type Journal,
  toJournal,
} from './journal.ts'
import { type InputFormat, openSource, type Source } from './source.ts'

export interface BulkOptions {
  /** The file, or `-` for stdin; needs not be given to resume. */
  readonly file: string | undefined
  readonly format: InputFormat | undefined
  readonly csvUnguard: boolean
  /** The site of lines that name none. */
  readonly site: string | undefined
  /** The same where a flag says it. */
  readonly siteFlag: string | undefined
  readonly concurrency: number
  readonly maxErrors: number
  readonly failedOut: string | undefined
  /** The job to go on with: its id, or `last`. */
  readonly resume: string | undefined
  readonly ignoreQuota: boolean
  /** Whether many lines may go with one request. */
  readonly batch: boolean
  readonly dryRun: boolean
}

/** What is to be done, once nothing speaks against it. */
export interface Job {
  readonly source: Source
  /** How many lines there are, and the file's SHA-256; null for a stream. */
  readonly extent: Extent | null
  /** Null for a stream, and where nothing will be sent. */
  readonly journal: Journal | null
  /** How many lines earlier runs created. */
  readonly before: number
}

/**
 * Reads a file through before anything is sent, and makes its journal, or goes on with it. Throws where a line is no
 * record, the quota cannot suffice, or the job to go on with is another one.
 */
export async function openJob(ctx: Context, options: BulkOptions, signal: AbortSignal): Promise<Job> {
  const journals = bulkJournals(ctx)
  const header =
    options.resume === undefined ? null : await journals.readHeader(await journals.find(options.resume))
  if (header) requireSame(ctx, header, options)
  const source = await openSource(ctx, sourceOptions(options, header), signal)
  try {
    if (source.path === null) {
      if (header) throw usageError('a job goes on with a file only, not with a stream')
      return { source, extent: null, journal: null, before: 0 }
    }
    const extent = await validate(ctx, source, options.maxErrors, signal)
    if (header && !signal.aborted && header.sha256 !== extent.sha256) throw otherFile(source.path, header)
    const before = header ? await countDone(journals, header.job) : 0
    if (options.dryRun || signal.aborted) return { source, extent, journal: null, before }
    if (!options.ignoreQuota) await requireQuota(ctx, extent.lines - before)
    const held = header
      ? await journals.resume(header.job)
      : await journals.create(headerOf(ctx, source.path, extent, options))
    return { source, extent, journal: toJournal(held), before }
  } catch (error) {
    await source.close()
    throw error
  }
}

function sourceOptions(options: BulkOptions, header: Header | null) {
  const file = options.file ?? header?.file ?? '-'
  const format = options.format ?? (/\.csv$/i.test(file) ? 'csv' : 'ndjson')
  if (!header) return { file, format, site: options.site, unguard: options.csvUnguard, isResumed: false }
  return { file, format: header.format, site: header.site, unguard: header.unguard, isResumed: true }
}

function headerOf(ctx: Context, file: string, { lines, sha256 }: Extent, options: BulkOptions): Header {
  const { settings } = ctx
  const { format, unguard } = sourceOptions(options, null)
  return {
    version: 1,
    job: randomUUID(),
    file,
    sha256,
    lines,
    format,
    unguard,
    profile: settings.profile.value,
    base_url: requireBaseUrl(settings),
    site: options.site,
    created_at: new Date().toISOString(),
  }
}

/** Throws a usage error where a job was begun elsewhere, or otherwise. */
function requireSame({ settings }: Context, header: Header, options: BulkOptions): void {
  requireSameOrigin(settings, header, commandOf(header))
  const { siteFlag, format } = options
  if (siteFlag !== undefined && siteFlag !== header.site) throw usageError('the job has another --site')
  if (format && format !== header.format) throw usageError(`the job's file is read as ${header.format}`)
}

function otherFile(path: string, { sha256 }: Header): CliError {
  return new CliError('changed', exit.changed, `${path} is not the file that the job was begun with`, {
    hint: `name that file with --file; its SHA-256 is ${sha256}`,
  })
}

/** A line whose record is made is not sent again, so it has one event that says so. */
async function countDone(journals: BulkJournals, job: string): Promise<number> {
  let done = 0
  for await (const [kind] of journals.events(job)) if (kind === 'd') done += 1
  return done
}
