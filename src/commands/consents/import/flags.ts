import type { Command } from 'commander'
import * as z from 'zod'
import { Count, nonEmpty } from '../../../cli/action.ts'
import { usageError } from '../../../errors/errors.ts'
import type { BulkOptions } from './job.ts'

/** No more requests than these are under way at once. */
const mostAtOnce = 64

/** The flags of a create from a file. */
export const bulkFlagOptions = {
  file: nonEmpty.optional(),
  format: z.enum(['ndjson', 'csv'], 'must be ndjson or csv').optional(),
  csvUnguard: z.literal(true).optional(),
  concurrency: Count.refine(count => count <= mostAtOnce, 'must be from 1 to 64').optional(),
  maxErrors: Count.optional(),
  failFast: z.literal(true).optional(),
  failedOut: nonEmpty.optional(),
  resume: nonEmpty.optional(),
  ignoreQuota: z.literal(true).optional(),
  batch: z.boolean().optional(),
  dryRun: z.literal(true).optional(),
}

const Flags = z.object({ site: nonEmpty.optional(), ...bulkFlagOptions })

export function bulkFlags(command: Command): Command {
  return command
    .option('--file <path|->', 'create a record for each line of a file, or of standard input')
    .option('--format <ndjson|csv>', 'what the lines are; else by the file’s name: .csv, or else NDJSON')
    .option('--csv-unguard', "take away the ' that guards cells beginning with = + - @ in CSV")
    .option('--concurrency <n>', 'how many requests are under way at once, from 1 to 64; 8 if not given')
    .option('--max-errors <n>', 'stop when so many lines failed')
    .option('--fail-fast', 'stop at the first line that fails')
    .option('--failed-out <path>', 'a new file for the lines that failed, as they came')
    .option('--resume <job|last>', 'go on with a file’s job that was stopped')
    .option('--no-batch', 'a request for each line, though the instance takes many lines in one')
    .option('--ignore-quota', 'begin though the month’s quota does not suffice')
    .option('--dry-run', 'send nothing: print the request, or check every line of a file')
}

/**
 * What a bulk create is to do; null where one record is created from flags. Throws a usage error for a mixture.
 * `defaultSite` is the one of the settings.
 */
export function bulkOptions(
  options: z.output<typeof Flags>,
  defaultSite: string | undefined,
): BulkOptions | null {
  const { site, file, resume, failFast, maxErrors = Number.POSITIVE_INFINITY } = options
  const isBulk = file !== undefined || resume !== undefined
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined || name === 'site' || name === 'dryRun') continue
    if (name === 'batch' && value === true) continue // what it is unless said
    const isForBulk = Object.hasOwn(bulkFlagOptions, name)
    if (isBulk && !isForBulk) {
      throw usageError('with --file the fields come from its lines', 'only --site may be given beside it')
    }
    if (!isBulk && isForBulk) throw usageError(`${flagOf(name, value)} goes with --file`)
  }
  if (!isBulk) return null
  return {
    file,
    resume,
    format: options.format,
    csvUnguard: options.csvUnguard ?? false,
    site: site ?? defaultSite,
    siteFlag: site,
    concurrency: options.concurrency ?? 8,
    maxErrors: failFast ? 1 : maxErrors,
    failedOut: options.failedOut,
    ignoreQuota: options.ignoreQuota ?? false,
    batch: options.batch ?? true,
    dryRun: options.dryRun ?? false,
  }
}

function flagOf(name: string, value: unknown): string {
  return `--${value === false ? 'no-' : ''}${name.replace(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)}`
}
