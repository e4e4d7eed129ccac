import type { Command } from 'commander'
import * as z from 'zod'
import { action, Count, nonEmpty } from '../../cli/action.ts'
import { callOptional, formatCount, instanceLabel, resumeCommand } from '../../cli/messages.ts'
import { many } from '../../cli/output.ts'
import { siteIdOf } from '../../cli/sites.ts'
import { EndlessListError } from '../../client/errors.ts'
import type { Context } from '../../context.ts'
import { type NoticeSubject, noticeSubjects } from '../../contract/notice-subjects.ts'
import { Resumable, usageError } from '../../errors/errors.ts'
import { noticeSubjectView } from '../../views/notice.ts'

const Options = z.strictObject({
  version: Count,
  site: nonEmpty.optional(),
  cursor: nonEmpty.optional(),
})

export function who(command: Command, ctx: Context): void {
  command
    .requiredOption('--version <n>', 'the policy version')
    .option('--site <site>', 'id or name of the site')
    .option('--cursor <cursor>', 'continue a list that ended early')
    .description(`
Lists each person whose newest answer on the site is accepted and of this version, once, newest first: the people to
ask again when a newer notice requires it. People with a newer answer, refusals included, and records without a
subject id are not listed. Sends a request for every 500 accepted records of the site.

Examples:
  $ consentctl notices who --version 1 --site Shop
  $ consentctl notices who --version 1 --site Shop -o csv --columns subject_id,updated_at > ask-again.csv`)
    .action(action(ctx, Options, noticeSubjectView, run))
}

async function run(ctx: Context, { version, site = ctx.settings.site?.value, cursor }: z.output<typeof Options>) {
  if (!site) throw usageError('--site is missing', 'use --site, CONSENTCTL_SITE, or consentctl config set site SITE')
  const id = await siteIdOf(ctx, site)
  let shown = 0
  async function* pages(): AsyncGenerator<readonly NoticeSubject[]> {
    let next = cursor
    do {
      const page = await readPage(ctx, { id, version }, next).catch((error: unknown) => {
        throw next === undefined ? error : new Resumable(error, resumeCommand(ctx.host.argv, {}, next))
      })
      yield page.data
      shown += page.data.length
      if (page.next_cursor !== null && page.next_cursor === next) throw new EndlessListError()
      next = page.next_cursor ?? undefined
    } while (next !== undefined)
  }
  const footer = async () => {
    if (ctx.io.out.isTerminal) await ctx.say(formatCount(shown, 'person'))
  }
  return many(noticeSubjectView, pages(), { footer })
}

async function readPage(ctx: Context, params: { readonly id: string; readonly version: number }, cursor?: string) {
  const ask = () => ctx.api.call(noticeSubjects, { params, query: { cursor, limit: 100 } })
  return await callOptional(ctx.api, noticeSubjects, ask, {
    message: `${instanceLabel(ctx)} cannot list who agreed to a notice`,
    hint: 'consentctl list --site SITE --accepted shows the records',
  })
}
