import type { Command } from 'commander'
import * as z from 'zod'
import { action, nonEmpty } from '../../cli/action.ts'
import { addDryRunFlag, dryRunOption, dryRunOutput, viewUnlessDryRun } from '../../cli/dry-run.ts'
import { instanceLabel } from '../../cli/messages.ts'
import { one } from '../../cli/output.ts'
import { addScopeFlag, addSignInFlags, signIn, signInHelp, signInOptions } from '../../cli/sign-in.ts'
import { futureInstant } from '../../cli/time.ts'
import type { Context } from '../../context.ts'
import { KeyDraft, keys } from '../../contract/keys.ts'
import { newKeyView } from '../../views/account.ts'

const Options = z.strictObject({
  ...signInOptions,
  ...dryRunOption,
  name: KeyDraft.shape.name,
  scope: KeyDraft.shape.scopes,
  expires: nonEmpty.optional(),
})

export function create(command: Command, ctx: Context): void {
  addSignInFlags(
    addDryRunFlag(
      addScopeFlag(command.requiredOption('--name <name>', 'name of the key')).option(
        '--expires <time>',
        'expiry: 90d from now, 2027-01-31 (end of day, UTC) or RFC 3339 (never)',
      ),
    ),
  )
    .description(`${signInHelp}

The key is printed only once: the instance stores only its hash.

Examples:
  $ consentctl keys create --email privacy@example.com --name backend --scope read,write
  $ consentctl keys create --email privacy@example.com --name ci --expires 90d --json --out key.json`)
    .action(action(ctx, Options, viewUnlessDryRun(newKeyView), run))
}

async function run(ctx: Context, { name, scope, expires, dryRun, ...who }: z.output<typeof Options>) {
  const body = { name, scopes: scope, expires_at: expires && futureInstant(expires, new Date()) }
  if (dryRun) return dryRunOutput(ctx, [{ endpoint: keys.create, body }])
  const api = await signIn(ctx, who)
  const key = await api.call(keys.create, { body })
  await ctx.say(`created key ${key.id} on ${instanceLabel(ctx)}`)
  return one(newKeyView, key, { mutates: true })
}
