import type { Command } from 'commander'
import * as z from 'zod'
import { action, Count, nonEmpty } from '../../cli/action.ts'
import { callOptional, formatCount } from '../../cli/messages.ts'
import { many } from '../../cli/output.ts'
import { addSignInFlags, signIn, signInHelp, signInOptions } from '../../cli/sign-in.ts'
import { endInstant, startInstant } from '../../cli/time.ts'
import type { Client } from '../../client/client.ts'
import type { Context } from '../../context.ts'
import { type ReadQuery, reads as readsEndpoint, type SubjectRead } from '../../contract/reads.ts'
import { readView } from '../../views/audit.ts'

const Options = z.strictObject({
  ...signInOptions,
  subject: nonEmpty.optional(),
  from: nonEmpty.optional(),
  to: nonEmpty.optional(),
  limit: Count.optional(),
})

export function reads(command: Command, ctx: Context): void {
  addSignInFlags(
    command
      .option('--subject <id>', 'only reads of this data subject')
      .option('--from <time>', 'made at this time or later: RFC 3339, 2026-01-31 (UTC), 7d or 24h ago')
      .option('--to <time>', 'made at this time or earlier; a date includes its whole day')
      .option('--limit <n>', 'list at most n reads'),
  )
    .description(`
Lists who read what of which person, newest first: records with an identifier that were fetched by their id, and
requests that asked for a person. Persons are named by the HMAC that the certificates of their erasures have.
${signInHelp}

Examples:
  $ consentctl audit reads --email privacy@example.com --subject maria@example.com
  $ consentctl audit reads --email privacy@example.com --from 30d -o csv`)
    .action(action(ctx, Options, readView, run))
}

async function run(ctx: Context, { subject, from, to, limit, email, passwordStdin }: z.output<typeof Options>) {
  const now = new Date()
  const query: ReadQuery = {
    ...(subject !== undefined && { subject_id: subject }),
    ...(from !== undefined && { from: startInstant(from, now) }),
    ...(to !== undefined && { to: endInstant(to, now) }),
  }
  const api = await signIn(ctx, { email, passwordStdin })
  let shown = 0
  async function* pages() {
    for await (const page of listReads(api, query)) {
      const rows = page.slice(0, (limit ?? Number.POSITIVE_INFINITY) - shown)
      shown += rows.length
      if (rows.length > 0) yield rows
      if (shown === limit) return
    }
  }
  const footer = async () => {
    if (ctx.io.out.isTerminal) await ctx.say(formatCount(shown, 'read'))
  }
  return many(readView, pages(), { footer })
}

/** Newest first. @throws CliError `not_offered` (exit 2) */
async function* listReads(api: Client, query: ReadQuery): AsyncGenerator<readonly SubjectRead[]> {
  let cursor: string | undefined
  do {
    const page = await callOptional(
      api,
      readsEndpoint,
      () => api.call(readsEndpoint, { query: { ...query, limit: 100, ...(cursor !== undefined && { cursor }) } }),
      { message: 'this instance has no access log', hint: 'ask its operator' },
    )
    yield page.data
    cursor = page.next_cursor ?? undefined
  } while (cursor !== undefined)
}
