import type { Command } from 'commander'
import * as z from 'zod'
import { Count, flagOf, nonEmpty } from '../../../cli/action.ts'
import { usageError } from '../../../errors/errors.ts'

export const lineFormats = ['ndjson', 'csv', 'tsv'] as const

/** `ids`: one id per line. */
export type LineFormat = (typeof lineFormats)[number] | 'ids'

export function formatOf(file: string): LineFormat {
  const [, extension = ''] = /\.(csv|tsv)$/i.exec(file) ?? []
  return lineFormats.find(format => format === extension.toLowerCase()) ?? 'ndjson'
}

export function formatOfIds(file: string): LineFormat {
  return /\.(csv|tsv|ndjson|jsonl|json)$/i.test(file) ? formatOf(file) : 'ids'
}

const maxConcurrency = 64

export const lineFlagOptions = {
  file: nonEmpty.optional(),
  format: z.enum(lineFormats, 'must be ndjson, csv or tsv').optional(),
  map: nonEmpty.optional(),
  true: nonEmpty.optional(),
  false: nonEmpty.optional(),
  csvUnguard: z.literal(true).optional(),
  concurrency: Count.refine(count => count <= maxConcurrency, 'must be from 1 to 64').optional(),
  maxErrors: Count.optional(),
  failFast: z.literal(true).optional(),
  failedOut: nonEmpty.optional(),
  resume: nonEmpty.optional(),
  ignoreQuota: z.literal(true).optional(),
  allowEmpty: z.literal(true).optional(),
}

export const createFlagOptions = {
  ...lineFlagOptions,
  mapOut: nonEmpty.optional(),
  batch: z.boolean().optional(),
  dryRun: z.literal(true).optional(),
}

const LineFlags = z.object(lineFlagOptions)
export type LineFlags = Omit<z.output<typeof LineFlags>, 'format'> & { readonly format?: LineFormat | undefined }

const Flags = z.object({ site: nonEmpty.optional(), ...createFlagOptions })

export function addCreateFlags(command: Command): Command {
  return addLineFlags(command, {
    file: 'create a record for each line of a file, or of standard input',
    resume: 'resume an import that was stopped',
  })
    .option('--map-out <path>', 'write a map of the columns to a new file to edit, and send nothing')
    .option('--no-batch', 'send each line in its own request, even if batches are possible')
    .option('--dry-run', 'send nothing: print the request, or check every line of a file')
}

export function addLineFlags(command: Command, about: { readonly file: string; readonly resume: string }): Command {
  return command
    .option('--file <path|->', about.file)
    .option('--format <ndjson|csv|tsv>', 'format of the lines (from the file name, else ndjson)')
    .option('--map <file|pairs>', 'map of fields to columns: a file, or subject_id=E-Mail,accepted=Status')
    .option('--true <words>', 'values that mean yes, comma-separated, besides the common ones')
    .option('--false <words>', 'values that mean no')
    .option('--csv-unguard', "remove the ' that guards cells beginning with = + - @ in CSV")
    .option('--concurrency <n>', 'concurrent requests, 1 to 64 (8)')
    .option('--max-errors <n>', 'stop when n lines have failed')
    .option('--fail-fast', 'stop at the first line that fails')
    .option('--failed-out <path>', 'write the lines that failed to a new file, unchanged')
    .option('--resume <job|last>', about.resume)
    .option('--ignore-quota', 'start even if the monthly quota is too small')
    .option('--allow-empty', 'accept an empty file')
}

/** Null for a single record. @throws UsageError if flags of one record and of a file are mixed */
export function toCreateOptions(options: z.output<typeof Flags>, defaultSite: string | undefined) {
  const { site, file, resume } = options
  const isOfFile = file !== undefined || resume !== undefined
  rejectMixedFlags(options, isOfFile)
  if (!isOfFile) return null
  return { ...options, site: resume === undefined ? (site ?? defaultSite) : site } // a resumed job keeps its site
}

export function maxErrorsOf({ failFast, maxErrors = Number.POSITIVE_INFINITY }: LineFlags): number {
  return failFast ? 1 : maxErrors
}

function rejectMixedFlags(options: object, isOfFile: boolean): void {
  for (const [name, value] of Object.entries(options)) {
    const isDefault = value === undefined || (name === 'batch' && value === true)
    const isOfBoth = name === 'site' || name === 'dryRun'
    if (isDefault || isOfBoth || Object.hasOwn(createFlagOptions, name) === isOfFile) continue
    throw isOfFile
      ? usageError('with --file, the fields come from the lines of the file', 'only --site may be given with it')
      : usageError(`${flagName(name, value)} requires --file`)
  }
}

function flagName(name: string, value: unknown): string {
  return `--${value === false ? 'no-' : ''}${flagOf(name)}`
}

/** @throws UsageError for a flag that requires --file */
export function rejectLineFlags(options: object): void {
  const given = Object.entries(options).find(
    ([name, value]) => value !== undefined && Object.hasOwn(lineFlagOptions, name),
  )
  if (given) throw usageError(`${flagName(...given)} requires --file`)
}
