import type { Command } from 'commander'
import * as z from 'zod'
import { action, collect, nonEmpty } from '../../cli/action.ts'
import { addDryRunFlag, dryRunOption, dryRunOutput, viewUnlessDryRun } from '../../cli/dry-run.ts'
import { instanceLabel } from '../../cli/messages.ts'
import { one } from '../../cli/output.ts'
import { addScopeFlag, addSignInFlags, signIn, signInHelp, signInOptions } from '../../cli/sign-in.ts'
import { siteIdsOf } from '../../cli/sites.ts'
import { futureInstant } from '../../cli/time.ts'
import type { Context } from '../../context.ts'
import { KeyDraft, keys } from '../../contract/keys.ts'
import { isUuid } from '../../contract/uuid.ts'
import { newKeyView } from '../../views/account.ts'

const Options = z.strictObject({
  ...signInOptions,
  ...dryRunOption,
  name: KeyDraft.shape.name,
  scope: KeyDraft.shape.scopes,
  site: z.array(nonEmpty).optional(),
  expires: nonEmpty.optional(),
})

export function create(command: Command, ctx: Context): void {
  addSignInFlags(
    addDryRunFlag(
      addScopeFlag(command.requiredOption('--name <name>', 'name of the key'))
        .option('--site <site>', 'only records of this site, by its name or id; repeatable (every site)', collect)
        .option('--expires <time>', 'expiry: 90d from now, 2027-01-31 (end of day, UTC) or RFC 3339 (never)'),
    ),
  )
    .description(`${signInHelp}

The key is printed only once: the instance stores only its hash. With --site everything of another site is
unknown to it, and what is of the whole account is rejected.

Examples:
  $ consentctl keys create --email privacy@example.com --name backend --scope read,write
  $ consentctl keys create --email privacy@example.com --name agency --site Shop --site Blog
  $ consentctl keys create --email privacy@example.com --name ci --expires 90d --json --out key.json`)
    .action(action(ctx, Options, viewUnlessDryRun(newKeyView), run))
}

async function run(ctx: Context, { name, scope, site, expires, dryRun, ...who }: z.output<typeof Options>) {
  const expires_at = expires && futureInstant(expires, new Date())
  const api = dryRun && (site ?? []).every(isUuid) ? ctx.api : await signIn(ctx, who)
  const site_ids = site && (await siteIdsOf({ api, say: ctx.say }, site))
  const body = { name, scopes: scope, site_ids, expires_at }
  if (dryRun) return dryRunOutput(ctx, [{ endpoint: keys.create, body }])
  const key = await api.call(keys.create, { body })
  await ctx.say(`created key ${key.id} on ${instanceLabel(ctx)}`)
  return one(newKeyView, key, { mutates: true })
}
