import type { Command } from 'commander'
import * as z from 'zod'
import type { Extent } from '../../client/pages.ts'
import type { Context } from '../../context.ts'
import type { Consent, ConsentQuery } from '../../contract/index.ts'
import { Resumable, usageError } from '../../errors/errors.ts'
import type { View } from '../../output/index.ts'
import { consentView, consentViewWithDeleted } from '../../views/consent.ts'
import { action, Count, formatOf, given } from '../action.ts'
import { counted } from '../instance.ts'
import { many, type Output } from '../output.ts'
import { firstInstant, lastInstant } from '../times.ts'
import { acceptedOf } from './fields.ts'

const Options = z.strictObject({
  site: given.optional(),
  subject: given.optional(),
  consentId: given.optional(),
  accepted: z.literal(true).optional(),
  refused: z.literal(true).optional(),
  from: given.optional(),
  to: given.optional(),
  cursor: given.optional(),
  includeDeleted: z.literal(true).optional(),
  limit: Count.optional(),
  all: z.literal(true).optional(),
  maxRequests: Count.optional(),
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
    .option('--limit <n>', `at most so many records (on a terminal ${screenful} unless --all)`)
    .option('--all', 'every record, on a terminal too')
    .option('--cursor <cursor>', 'go on where an earlier list ended')
    .option('--max-requests <n>', 'send at most so many requests')
    .addHelpText(
      'after',
      `
Examples:
  $ consentctl list --subject maria@example.com
  $ consentctl list --refused --from 7d -o ndjson > refused.ndjson`,
    )
    .action(
      action(ctx, Options, consentView, async (_, options) => {
        if (options.all && options.limit !== undefined)
          throw usageError('--all and --limit exclude each other')
        const isScreen = formatOf(ctx) === 'table' && ctx.io.out.isTerminal && ctx.globals.out === undefined
        const limit = options.limit ?? (isScreen && !options.all ? screenful : Number.POSITIVE_INFINITY)
        const maxRequests = options.maxRequests ?? Number.POSITIVE_INFINITY
        const view = options.includeDeleted ? consentViewWithDeleted : consentView
        return records(ctx, view, queryOf(options, new Date()), { limit, maxRequests })
      }),
    )
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

/** The pages of the walk; where it ends before the list does, on purpose or not, the command that goes on is told. */
function records(ctx: Context, view: View<Consent>, query: ConsentQuery, extent: Extent): Output<Consent> {
  let shown = 0
  let next: string | null = null
  async function* pages(): AsyncGenerator<readonly Consent[]> {
    try {
      for await (const page of ctx.api.pages(query, extent)) {
        yield page.records
        shown += page.records.length
        next = page.next
      }
    } catch (error) {
      throw next === null ? error : new Resumable(error, resumeCommand(ctx.host.argv, query, next))
    }
  }
  const footer = async () => {
    if (next !== null)
      await ctx.warn(`${counted(shown)}; there are more: ${resumeCommand(ctx.host.argv, query, next)}`)
    else if (ctx.io.out.isTerminal) await ctx.say(counted(shown))
  }
  return many(view, pages(), { footer })
}

/** The same command from a cursor on; a time that was relative is written out, for the cursor is bound to it. */
function resumeCommand(argv: readonly string[], { from, to }: ConsentQuery, cursor: string): string {
  const now: Record<string, string | undefined> = {
    '--from': from,
    '--to': to,
    '--cursor': undefined,
    '--out': undefined,
  }
  const words: string[] = []
  for (let index = 2; index < argv.length; index += 1) {
    const [flag = '', ...value] = (argv[index] ?? '').split('=')
    if (!Object.hasOwn(now, flag)) words.push(argv[index] ?? '')
    else if (value.length === 0) index += 1
  }
  const given = Object.entries(now).flatMap(([flag, value]) => (value === undefined ? [] : [flag, value]))
  return ['consentctl', ...words, ...given, '--cursor', cursor].map(quoted).join(' ')
}

/** A word as a POSIX shell reads it back. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}
