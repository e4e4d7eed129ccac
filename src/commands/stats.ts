import { type Command, Option } from 'commander'
import * as z from 'zod'
import { action, chooseFormat, nonEmpty } from '../cli/action.ts'
import { callOptional, formatCount, instanceLabel } from '../cli/messages.ts'
import { many, type Output, pagesOf } from '../cli/output.ts'
import { addSignInFlags, signIn, signInOptions } from '../cli/sign-in.ts'
import { siteIdOf } from '../cli/sites.ts'
import { utcDay } from '../cli/time.ts'
import type { Context } from '../context.ts'
import { groupings, stats as route, type Stats, type StatsGroup } from '../contract/stats.ts'
import { nameOf, type StatsRow, statsView } from '../views/stats.ts'

const Options = z.strictObject({
  ...signInOptions,
  site: nonEmpty.optional(),
  from: nonEmpty.optional(),
  to: nonEmpty.optional(),
  by: z.enum(groupings).optional(),
  exact: z.literal(true).optional(),
})

export function stats(command: Command, ctx: Context): void {
  command
    .option('--site <site>', 'only records of this site')
    .option('--from <day>', 'created on this day (UTC) or later: 2026-01-31, or 7d or 4w ago')
    .option('--to <day>', 'created on this day (UTC) or earlier')
    .addOption(new Option('--by <group>', 'group the numbers').choices(groupings))
    .option('--exact', 'also show groups of fewer than ten persons')
  addSignInFlags(command)
    .description(`
Counts the records created on these days, including deleted ones, so a purge does not change the numbers. Accepted:
consent is currently given, for at least one purpose of the notice (of the record, if that names none), or without any
answer for one; withdrawn: it was accepted once. A person is a subject id. Imported records count on the day of their import, not of the answer. Groups of fewer than ten
persons are hidden, and others if a total would reveal a small one: tables leave them out, and a sentence names them.

Examples:
  $ consentctl stats
  $ consentctl stats --by month --from 2026-01-01
  $ consentctl stats --by country --exact -o csv > countries.csv`)
    .action(action(ctx, Options, ({ by }) => statsView(by), run))
}

async function run(ctx: Context, options: z.output<typeof Options>): Promise<Output<StatsRow>> {
  const { site, by, exact } = options
  const now = new Date()
  const [from, to] = [options.from, options.to].map(text => (text === undefined ? undefined : utcDay(text, now)))
  const api = options.email || options.passwordStdin ? await signIn(ctx, options) : ctx.api
  const site_id = site === undefined ? undefined : await siteIdOf({ api, say: ctx.say }, site)
  const ask = () => api.call(route.get, { query: { site_id, from, to, by, exact } })
  const found = await callOptional(api, route.get, ask, {
    message: `${instanceLabel(ctx)} has no statistics`,
    hint: 'consentctl list --count counts records, with any filter',
  })
  const view = statsView(by)
  const footer = () => describe(ctx, found, by)
  const total = { ...found.total, group: null, site_id: null, site_name: null }
  const rows = by === undefined ? [total] : found.groups
  const { complete, as_of } = found
  const shown = chooseFormat(ctx) === 'table' ? rows.filter(row => row.hidden === null) : rows
  return many(view, pagesOf(shown.map(row => ({ ...withRate(row), complete, as_of }))), { footer })
}

function withRate(row: StatsGroup) {
  const { accepted, refused } = row
  const all = (accepted ?? 0) + (refused ?? 0)
  return { ...row, rate: accepted === null || all === 0 ? null : Math.round((accepted / all) * 10_000) / 10_000 }
}

async function describe(
  ctx: Context,
  { complete, uncounted, truncated, as_of, total, groups }: Stats,
  by: (typeof groupings)[number] | undefined,
): Promise<void> {
  if (by !== undefined && ctx.io.out.isTerminal && total.records !== null)
    await ctx.say(`total: ${formatCount(total.records)} of ${formatCount(total.persons ?? 0, 'person')}`)
  const few = complete ? 'fewer than ten persons' : 'fewer than ten persons counted so far'
  if (by === undefined && total.hidden !== null) await ctx.say(`hidden: ${few}; --exact shows all`)
  const namesOf = (why: string) => groups.filter(row => row.hidden === why).map(row => row.site_name ?? nameOf(row, by))
  const small = namesOf('small').join(', ')
  const others = namesOf('remainder').join(', ')
  if (small) {
    const rest = others && `, and ${others}, because a total would reveal a small group`
    await ctx.say(`hidden: ${small} (${few})${rest}; --exact shows all`)
  }
  if (truncated) await ctx.warn('only the largest groups are listed: the last row is the sum of all others')
  if (!complete) {
    const events =
      uncounted === null ? 'not everything is counted yet' : `${formatCount(uncounted, 'event')} not counted yet`
    await ctx.warn(as_of === null ? `${events}: try again in some minutes` : `counted until ${as_of}, ${events}`)
  }
}
