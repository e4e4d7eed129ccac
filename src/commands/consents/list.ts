import type { Command } from 'commander'
import * as z from 'zod'
import { action, Count, chooseFormat, flagOf, nonEmpty } from '../../cli/action.ts'
import { formatCount, resumeCommand } from '../../cli/messages.ts'
import { many, type Output } from '../../cli/output.ts'
import { siteIdOf } from '../../cli/sites.ts'
import type { Extent } from '../../client/pages.ts'
import type { Context } from '../../context.ts'
import type { ConsentQuery } from '../../contract/index.ts'
import { exit, Resumable, usageError } from '../../errors/errors.ts'
import type { View } from '../../output/index.ts'
import {
  type ConsentRow,
  consentView,
  consentViewOfImports,
  consentViewWithDeleted,
  consentViewWithExpiry,
  countView,
} from '../../views/consent.ts'
import { addFilterFlags, filterOptions, findConflict, queryOf, readFilterFlags } from './filters.ts'

const Options = z.strictObject({
  ...filterOptions,
  at: nonEmpty.optional(),
  cursor: nonEmpty.optional(),
  includeDeleted: z.literal(true).optional(),
  expiring: nonEmpty.optional(),
  expired: z.literal(true).optional(),
  limit: Count.optional(),
  all: z.literal(true).optional(),
  count: z.literal(true).optional(),
  maxRequests: Count.optional(),
  concurrency: Count.refine(count => count <= 64, 'must be from 1 to 64').optional(),
})
type ListOptions = z.output<typeof Options>

const screenful = 50

export function list(command: Command, ctx: Context): void {
  addFilterFlags(command, { isRare: false })
    .option('--limit <n>', `list at most n records (on a terminal ${screenful} unless --all)`)
    .option('--all', 'list every record, also on a terminal')
    .option('--count', 'print only the number of records')
    .option('--include-deleted', 'include deleted records')
  addFilterFlags(command, { isRare: true })
    .option('--at <time>', 'show records as they were at this time; requires --subject or --consent-id')
    .option('--expiring <time>', 'accepted records that expire within this time (30d, 4w, P1M), soonest first')
    .option('--expired', 'accepted records that have expired')
    .option('--cursor <cursor>', 'continue where an earlier list ended')
    .option('--max-requests <n>', 'send at most n requests')
    .option('--concurrency <n>', 'concurrent page requests, 1 to 64; with 1, each page waits for the one before')
    .description(`
With --at, --accepted and --refused filter by the state at that time; each record takes a request. A record
purged since then can only be found by its id: get ID --at TIME

--expiring and --expired list records even if the person has given a newer answer: check SUBJECT says what
counts. They can be combined only with --site, and show expires_at: notices publish --valid-for sets how long
a consent is valid. They never list withdrawn, refused or deleted records.

Examples:
  $ consentctl list --subject maria@example.com
  $ consentctl list --subject maria@example.com --at 2026-03-03T10:00:00Z
  $ consentctl list --refused --from 7d -o ndjson > refused.ndjson
  $ consentctl list --imported --from 1d
  $ consentctl list --count --site 0198f3a2-7c11-7def-8a5b-2f6f3c1e9d40`)
    .action(action(ctx, Options, ({ count }): View<never> => (count ? countView : consentView), run))
}

async function run(
  ctx: Context,
  options: ListOptions,
): Promise<Output<ConsentRow> | Output<{ readonly count: number }>> {
  const { all, includeDeleted, maxRequests = Number.POSITIVE_INFINITY, concurrency } = options
  if (all && options.limit !== undefined) throw usageError('--all and --limit cannot be combined')
  const limit = findLimit(ctx, options)
  const extent = { limit, maxRequests, readAhead: concurrency !== 1 }
  if (options.expiring !== undefined || options.expired) return await printExpiring(ctx, options, extent)
  const flags = readFilterFlags(options)
  const conflict = findConflict(flags)
  if (conflict) throw usageError(`--${conflict.join(' and --')} cannot be combined`)
  if (options.count) rejectPageOptions(options)
  if (options.at !== undefined) requireAtOptions(options)
  const query: ConsentQuery = {
    ...(await queryOf(ctx, flags)),
    include_deleted: includeDeleted,
    cursor: options.cursor,
  }
  if (options.count) return await (await import('./count.ts')).countList(ctx, query)
  const view = query.imported ? consentViewOfImports : includeDeleted ? consentViewWithDeleted : consentView
  if (options.at === undefined) {
    const pages = ctx.api.pages(query, extent)
    return printPages(ctx, view, pages, cursor => resumeCommand(ctx.host.argv, query, cursor))
  }
  const { readAt, pagesAt } = await import('./at.ts')
  const at = await readAt(ctx, options.at, includeDeleted)
  const bounds = { from: query.from, to: query.to, at: at.text }
  const pages = pagesAt(ctx, query, at, { limit, maxRequests })
  return printPages(ctx, view, pages, cursor => resumeCommand(ctx.host.argv, bounds, cursor))
}

function findLimit(ctx: Context, { limit, all }: ListOptions): number {
  const isTable = ['table', 'wide'].includes(chooseFormat(ctx))
  const isScreen = isTable && ctx.io.out.isTerminal && ctx.globals.out === undefined
  return limit ?? (isScreen && !all ? screenful : Number.POSITIVE_INFINITY)
}

async function printExpiring(ctx: Context, options: ListOptions, extent: Extent): Promise<Output<ConsentRow>> {
  const { readExpiry } = await import('./expiry.ts')
  const expiry = readExpiry(options)
  await (await import('./offered.ts')).requireFilter(ctx, 'expiry', 'this instance does not know when consents end')
  const site_id = options.site && (await siteIdOf(ctx, options.site))
  const pages = ctx.api.pages({ site_id, expiry, cursor: options.cursor }, extent)
  return printPages(ctx, consentViewWithExpiry, pages, cursor => resumeCommand(ctx.host.argv, {}, cursor))
}

function rejectPageOptions(options: ListOptions): void {
  for (const name of ['at', 'limit', 'all', 'cursor', 'maxRequests', 'concurrency'] as const)
    if (options[name] !== undefined) throw usageError(`--count cannot be combined with --${flagOf(name)}`)
}

function requireAtOptions({ subject, consentId, maxRequests }: ListOptions): void {
  if (subject === undefined && consentId === undefined)
    throw usageError('--at requires --subject or --consent-id', 'it requests the history of every record')
  if (maxRequests !== undefined && maxRequests < 3)
    throw usageError('--max-requests must be 3 or more with --at', 'the first two requests read no record')
}

interface Page {
  readonly records: readonly ConsentRow[]
  readonly next: string | null
  readonly unknown?: number
}

/** Longer lists save memory at the cost of time. */
const longList = 16

function printPages(
  ctx: Context,
  view: View<ConsentRow>,
  pages: AsyncIterable<Page>,
  commandFrom: (cursor: string) => string,
): Output<ConsentRow> {
  let shown = 0
  let unknown = 0
  let next: string | null = null
  async function* rows(): AsyncGenerator<readonly ConsentRow[]> {
    let count = 0
    try {
      for await (const page of pages) {
        yield page.records
        shown += page.records.length
        unknown += page.unknown ?? 0
        next = page.next
        count += 1
        if (count === longList) (await import('../../io/memory.ts')).limitHeapGrowth()
      }
    } catch (error) {
      throw next === null ? error : new Resumable(error, commandFrom(next))
    }
  }
  const footer = async () => {
    if (next !== null) await ctx.warn(`${formatCount(shown)}; to list more: ${commandFrom(next)}`)
    else if (ctx.io.out.isTerminal) await ctx.say(formatCount(shown))
  }
  return many(view, rows(), { footer, exit: () => (unknown > 0 ? exit.partial : exit.done) })
}
