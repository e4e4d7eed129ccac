import type { Command } from 'commander'
import * as z from 'zod'
import { action, Count, formatOf, given } from '../../cli/action.ts'
import { resumeCommand } from '../../cli/command-line.ts'
import { counted } from '../../cli/instance.ts'
import { many, type Output } from '../../cli/output.ts'
import { firstInstant, lastInstant } from '../../cli/time.ts'
import type { Context } from '../../context.ts'
import type { ConsentQuery } from '../../contract/index.ts'
import { exit, Resumable, usageError } from '../../errors/errors.ts'
import type { View } from '../../output/index.ts'
import { type ConsentRow, consentView, consentViewWithDeleted } from '../../views/consent.ts'
import { type At, atOf } from './at.ts'
import { acceptedOf } from './fields.ts'

/** How many requests of a long list are under way at once, unless that is said, and at most. */
const [usuallyAtOnce, mostAtOnce] = [8, 64]

const Options = z.strictObject({
  site: given.optional(),
  subject: given.optional(),
  consentId: given.optional(),
  accepted: z.literal(true).optional(),
  refused: z.literal(true).optional(),
  from: given.optional(),
  to: given.optional(),
  at: given.optional(),
  cursor: given.optional(),
  includeDeleted: z.literal(true).optional(),
  limit: Count.optional(),
  all: z.literal(true).optional(),
  maxRequests: Count.optional(),
  concurrency: Count.refine(count => count <= mostAtOnce, `must be from 1 to ${mostAtOnce}`).optional(),
})

/** How many records a terminal shows when nothing is said. */
const screenful = 50

/** `list`: everything for programs, a screenful for people; never less than asked for without saying so. */
export function list(command: Command, ctx: Context): void {
  command
    .option('--site <id>', 'only of this site')
    .option('--subject <id>', 'only of this data subject')
    .option('--consent-id <label>', 'only with this label')
    .option('--accepted', 'only accepted ones')
    .option('--refused', 'only those not accepted')
    .option('--from <time>', 'created at this time or later: RFC 3339, 2026-01-31 (UTC), 7d or 24h ago')
    .option('--to <time>', 'created at this time or earlier; a date includes its whole day')
    .option('--include-deleted', 'deleted ones too')
    .option('--at <time>', 'as they were at this time; with --subject or --consent-id')
    .option('--limit <n>', `at most so many records (on a terminal ${screenful} unless --all)`)
    .option('--all', 'every record, on a terminal too')
    .option('--cursor <cursor>', 'go on where an earlier list ended')
    .option('--max-requests <n>', 'send at most so many requests')
    .option('--concurrency <n>', 'how many requests of a long list at once, from 1 to 64; 8 if not given')
    .addHelpText(
      'after',
      `
With --at, --accepted and --refused are about the state at that time. It takes a request for each record.
A record that was purged since then is found by its id only: get ID --at TIME

Examples:
  $ consentctl list --subject maria@example.com
  $ consentctl list --subject maria@example.com --at 2026-03-03T10:00:00Z
  $ consentctl list --refused --from 7d -o ndjson > refused.ndjson`,
    )
    .action(
      action(ctx, Options, consentView, async (_, options) => {
        if (options.all && options.limit !== undefined)
          throw usageError('--all and --limit exclude each other')
        const isScreen = formatOf(ctx) === 'table' && ctx.io.out.isTerminal && ctx.globals.out === undefined
        const limit = options.limit ?? (isScreen && !options.all ? screenful : Number.POSITIVE_INFINITY)
        const { maxRequests = Number.POSITIVE_INFINITY, concurrency = usuallyAtOnce } = options
        const view = options.includeDeleted ? consentViewWithDeleted : consentView
        const query = queryOf(options, new Date())
        const at = options.at === undefined ? null : await askedAt(ctx, options, options.at)
        const walk = at
          ? (await import('./at.ts')).pagesAt(ctx, query, at, { limit, maxRequests })
          : ctx.api.pages(query, { limit, maxRequests, concurrency })
        return records(ctx, view, walk, (cursor, to = query.to) =>
          resumeCommand(ctx.host.argv, { from: query.from, to, at: at?.text }, cursor),
        )
      }),
    )
}

/** How records were takes a request for each, after one for what the instance offers and one for the list. */
function askedAt(ctx: Context, options: z.output<typeof Options>, flag: string): Promise<At> {
  const { subject, consentId, maxRequests, includeDeleted } = options
  if (subject === undefined && consentId === undefined)
    throw usageError('--at goes with --subject or --consent-id', 'it asks for the history of every record')
  if (maxRequests !== undefined && maxRequests < 3)
    throw usageError('with --at --max-requests must be 3 or more', 'only the third is about a record')
  return atOf(ctx, flag, includeDeleted)
}

function queryOf(options: z.output<typeof Options>, now: Date): ConsentQuery {
  return {
    site_id: options.site,
    subject_id: options.subject,
    consent_id: options.consentId,
    accepted: acceptedOf(options),
    from: options.from && firstInstant(options.from, now),
    to: options.to && lastInstant(options.to, now),
    include_deleted: options.includeDeleted,
    cursor: options.cursor,
  }
}

interface Page {
  readonly records: readonly ConsentRow[]
  readonly next: string | null
  /** The upper bound that goes with it, where that is not the list's own. */
  readonly to?: string | undefined
  /** How many records could not be shown as they were. */
  readonly untold?: number
}

/** The pages of the walk; where it ends before the list does, on purpose or not, the command that goes on is told. */
function records(
  ctx: Context,
  view: View<ConsentRow>,
  walk: AsyncIterable<Page>,
  toGoOn: (cursor: string, to?: string) => string,
): Output<ConsentRow> {
  let [shown, untold] = [0, 0]
  let [next, to]: [string | null, string | undefined] = [null, undefined]
  async function* pages(): AsyncGenerator<readonly ConsentRow[]> {
    try {
      for await (const page of walk) {
        yield page.records
        shown += page.records.length
        untold += page.untold ?? 0
        next = page.next
        to = page.to
      }
    } catch (error) {
      throw next === null ? error : new Resumable(error, toGoOn(next, to))
    }
  }
  const footer = async () => {
    if (next !== null) await ctx.warn(`${counted(shown)}; there are more: ${toGoOn(next, to)}`)
    else if (ctx.io.out.isTerminal) await ctx.say(counted(shown))
  }
  return many(view, pages(), { footer, exit: () => (untold > 0 ? exit.partial : exit.done) })
}
