import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import * as z from 'zod'
import { formatCount } from '../../../cli/messages.ts'
import { isUnreachable } from '../../../client/errors.ts'
import type { Context } from '../../../context.ts'
import { type Usage, usage } from '../../../contract/usage.ts'
import { CliError, exit, usageError } from '../../../errors/errors.ts'
import { explain } from '../../../errors/explain.ts'
import { type Jobs, jobsOf } from '../../../jobs/jobs.ts'
import { commandForOrigin, requireBaseUrl, requireSameOrigin } from '../../../settings/settings.ts'
import type { LineResult } from '../../../views/consent.ts'
import { ColumnMap, ownColumns, readMap } from './map.ts'
import type { LineJob, LineJobOptions, Operation } from './operation.ts'
import { formatOf, lineFormats } from './options.ts'
import { type Extent, type FailedLines, openReader, type Reader, type ReaderOptions, validate } from './reader.ts'
import { countEarlier, type Entry, openState } from './state.ts'

/** Contains no API key and no record data. */
const Header = z.object({
  version: z.literal(1),
  job: z.string(),
  /** Absent if the job has its own copy of the input. */
  file: z.string().optional(),
  sha256: z.string(),
  lines: z.number(),
  format: z.enum([...lineFormats, 'ids']),
  unguard: z.boolean(),
  /** Stored, because the map file may change. */
  map: ColumnMap,
  profile: z.string(),
  base_url: z.string(),
  command: z.enum(['create', 'update', 'rm', 'import']),
  defaults: z.record(z.string(), z.unknown()),
  about: z.record(z.string(), z.unknown()).optional(),
  receipt_out: z.string().optional(),
  created_at: z.string(),
})
type Header = z.output<typeof Header>

/**
 * Validates the file, then creates or resumes its job. Yields results of invalid lines.
 *
 * @throws CliError if a line is invalid, the quota is too small, or the file or settings differ from the job's
 */
export async function* openJob(
  ctx: Context,
  begun: Operation,
  options: LineJobOptions,
  failedLines: FailedLines | null,
  signal: AbortSignal,
): AsyncGenerator<readonly LineResult[], LineJob> {
  const jobs = lineJobs(ctx, begun.command)
  const resumed = options.resume === undefined ? null : await findResumed(ctx, jobs, begun, options.resume)
  const map = await readMap(ctx.io, options, begun.lines.fields)
  if (resumed) requireSame(ctx, begun, resumed, options, map)
  const operation = resumed ? { ...begun, defaults: resumed.defaults } : begun
  const readerOptions = resumed ? resumedOptions(jobs, resumed, options) : toReaderOptions(options, begun, map)
  const reader = await openReader(ctx, operation.lines, readerOptions, signal)
  try {
    if (reader.path === null) {
      if (resumed) throw usageError('standard input cannot be resumed: use --file')
      return { operation, reader, extent: null, state: null, doneBefore: 0, unchangedBefore: 0 }
    }
    const extent = yield* validate(ctx, reader, options, failedLines, signal)
    if (resumed && !signal.aborted && resumed.sha256 !== extent.sha256) throw otherFileError(reader.path, resumed)
    const before = await countEarlier(resumed ? await jobs.runs(resumed.job) : [])
    if (options.dryRun || signal.aborted) return { operation, reader, extent, state: null, ...before }
    if (!options.ignoreQuota)
      await requireQuota(ctx, Math.ceil(operation.requests * (extent.lines - before.doneBefore)))
    const job = resumed
      ? await jobs.resume(resumed.job)
      : await begin(jobs, options, newHeader(ctx, operation, extent, readerOptions), reader)
    return { operation, reader, extent, state: await openState(job), ...before }
  } catch (error) {
    await reader.close()
    throw error
  }
}

async function begin(
  jobs: Jobs<Header, Entry>,
  { approve, workFolder }: LineJobOptions,
  header: Header,
  reader: Reader<object>,
) {
  await approve?.(header.lines, reader)
  const path = reader.path ?? undefined
  return await (workFolder === undefined ? jobs.create({ ...header, file: path }) : jobs.create(header, path))
}

async function findResumed(ctx: Context, jobs: Jobs<Header, Entry>, { words }: Operation, wanted: string) {
  const header = await jobs.readHeader(await jobs.find(wanted))
  const { file, about, created_at } = header
  const of = file === undefined ? '' : ` of ${file}`
  if (!about) await ctx.say(`resuming the ${words.work}${of} of ${created_at}`)
  return header
}

export function jobsFolder({ settings }: Context): string {
  return join(settings.stateFolder, 'jobs')
}

export function lineJobs({ settings, host }: Context, command?: Operation['command']): Jobs<Header, Entry> {
  return jobsOf<Header, Entry>({
    get folder() {
      return join(settings.stateFolder, 'jobs') // a stream needs no state folder
    },
    header: Header,
    host,
    elsewhere: header => {
      const resume = commandForOrigin(settings, header, resumeCommand(header))
      const isOfOther = command !== undefined && command !== header.command
      return resume !== null && isOfOther ? '' : resume
    },
    hints: {
      damaged:
        (command ?? 'create') === 'create'
          ? 'consentctl list shows which records were created'
          : 'consentctl history shows what was done with a record',
      unwritable: 'set CONSENTCTL_STATE_DIR to a folder that can be written, or use --file -, which needs none',
    },
  })
}

function resumeCommand({ command, job }: Pick<Header, 'command' | 'job'>): string {
  return `consentctl ${command} --resume ${job}`
}

function toReaderOptions(options: LineJobOptions, { defaults }: Operation, map: ColumnMap | null): ReaderOptions {
  const { file = '-', csvUnguard: unguard = false, format = formatOf(file) } = options
  if (map && format === 'ndjson')
    throw usageError('--map, --true and --false work only with CSV and TSV', 'if the file is CSV, use --format csv')
  return { file, format, defaults, unguard, map: map ?? ownColumns, isResumed: false }
}

function resumedOptions(jobs: Jobs<Header, Entry>, header: Header, { file }: LineJobOptions): ReaderOptions {
  return { ...header, file: file ?? header.file ?? jobs.inputOf(header.job), isResumed: true }
}

function newHeader(
  { settings }: Context,
  { command, defaults, about, receiptOut: receipt_out }: Operation,
  { lines, sha256 }: Extent,
  { format, unguard, map }: ReaderOptions,
): Header {
  const origin = { profile: settings.profile.value, base_url: requireBaseUrl(settings) }
  const content = { sha256, lines, format, unguard, map, defaults, about, receipt_out }
  return { version: 1, job: randomUUID(), command, ...content, ...origin, created_at: new Date().toISOString() }
}

function requireSame(
  { settings }: Context,
  { command, defaults }: Operation,
  header: Header,
  { format }: LineJobOptions,
  map: ColumnMap | null,
): void {
  requireSameOrigin(settings, header, resumeCommand(header))
  if (command !== header.command) throw usageError('the job was started by another command', resumeCommand(header))
  const given = JSON.parse(JSON.stringify(defaults)) // drops undefined fields
  if (Object.keys(given).length > 0 && !isDeepStrictEqual(given, header.defaults))
    throw usageError(
      `the job was started with another ${command === 'create' ? '--site' : 'change'}`,
      `remove its flags: ${resumeCommand(header)}`,
    )
  if (format && format !== header.format) throw usageError(`the job has --format ${header.format}, not ${format}`)
  if (map && !isDeepStrictEqual(map, header.map))
    throw usageError('the job was started with another map', `remove --map: ${resumeCommand(header)}`)
}

function otherFileError(path: string, { sha256 }: Header): CliError {
  return new CliError('changed', exit.changed, `${path} is not the file that the job was started with`, {
    hint: `name that file with --file; its SHA-256 is ${sha256}`,
  })
}

/**
 * Null if no quota is reported.
 *
 * @throws CliError or ApiError quota_exceeded; NetworkError
 */
export async function requireQuota(ctx: Context, requests: number): Promise<Usage | null> {
  if (requests <= 0) return null
  const used = await ctx.api.call(usage.get, {}).catch((error: unknown) => {
    if (isUnreachable(error) || explain(error).code === 'quota_exceeded') throw error
    return null
  })
  if (!used || used.remaining === null || used.remaining >= requests) return used
  throw new CliError(
    'quota_exceeded',
    exit.quota,
    `${formatCount(requests, 'request')} would be sent, but only ${used.remaining} fit into this month's quota`,
    {
      hint: `split the file, wait until ${used.resets_at}, raise the quota (consentctl admin account quota), or use --ignore-quota`,
    },
  )
}
