import type { Command } from 'commander'
import { Option } from 'commander'
import * as z from 'zod'
import { action, Count, nonEmpty } from '../../cli/action.ts'
import { callOptional, formatCount } from '../../cli/messages.ts'
import { many } from '../../cli/output.ts'
import { endInstant, startInstant } from '../../cli/time.ts'
import type { Context } from '../../context.ts'
import { type AccountEntry, type AuditQuery, audit, auditActions, auditTargets } from '../../contract/audit.ts'
import { auditView } from '../../views/audit.ts'

const Options = z.strictObject({
  actor: nonEmpty.optional(),
  action: z.enum(auditActions).optional(),
  target: nonEmpty.optional(),
  from: nonEmpty.optional(),
  to: nonEmpty.optional(),
  limit: Count.optional(),
})

export function list(command: Command, ctx: Context): void {
  command
    .option('--actor <actor>', 'only changes by this user (e-mail), API key (name), id, or kind: admin, system')
    .addOption(new Option('--action <action>', 'only changes of a kind').choices(auditActions))
    .option('--target <target>', `only changes to this id, or to a kind: ${auditTargets.join(', ')}`)
    .option('--from <time>', 'made at this time or later: RFC 3339, 2026-01-31 (UTC), 7d or 24h ago')
    .option('--to <time>', 'made at this time or earlier; a date includes its whole day')
    .option('--limit <n>', 'list at most n entries')
    .description(`
Lists who changed which site, key, user, password, quota, notice, legal hold, webhook or data subject's request, each
purge, and each "admin import" of an account, newest first. Records imported from another tool are not listed: their
histories have the key and the digest of the file. Entries are part of the account's log: consentctl admin verify
checks them against the settings. An entry that was altered and cannot be read is "unreadable".

Examples:
  $ consentctl audit list --from 30d
  $ consentctl audit list --action site_updated --actor maria@example.com -o ndjson`)
    .action(
      action(ctx, Options, auditView, async (_, { from, to, limit = Number.POSITIVE_INFINITY, ...filters }) => {
        const now = new Date()
        const query: AuditQuery = {
          ...filters,
          ...(from !== undefined && { from: startInstant(from, now) }),
          ...(to !== undefined && { to: endInstant(to, now) }),
        }
        let shown = 0
        async function* pages() {
          for await (const page of listEntries(ctx, query)) {
            const rows = page.slice(0, limit - shown)
            shown += rows.length
            if (rows.length > 0) yield rows
            if (shown === limit) return
          }
        }
        const footer = async () => {
          if (ctx.io.out.isTerminal) await ctx.say(formatCount(shown, 'change'))
        }
        return many(auditView, pages(), { footer })
      }),
    )
}

/** Newest entry first; some pages may be empty. @throws CliError `not_offered` (exit 2) */
async function* listEntries({ api }: Context, query: AuditQuery): AsyncGenerator<readonly AccountEntry[]> {
  let cursor: string | undefined
  do {
    const page = await callOptional(
      api,
      audit.list,
      () => api.call(audit.list, { query: { ...query, limit: 100, ...(cursor !== undefined && { cursor }) } }),
      { message: 'this instance has no administrators’ log', hint: 'ask its operator' },
    )
    yield page.data
    cursor = page.next_cursor ?? undefined
  } while (cursor !== undefined)
}
