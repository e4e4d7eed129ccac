import type { Command } from 'commander'
import * as z from 'zod'
import { action, given } from '../../cli/action.ts'
import { dryRunFlag, dryRunOption, rehearsed, unlessDry } from '../../cli/dry-run.ts'
import { instanceOf } from '../../cli/instance.ts'
import { one } from '../../cli/output.ts'
import { aboutSignIn, scopeFlag, signIn, signInFlags, signInOptions } from '../../cli/sign-in.ts'
import { comingInstant } from '../../cli/time.ts'
import type { Context } from '../../context.ts'
import { KeyDraft, keys } from '../../contract/keys.ts'
import { newKeyView } from '../../views/account.ts'

const Options = z.strictObject({
  ...signInOptions,
  ...dryRunOption,
  name: KeyDraft.shape.name,
  scope: KeyDraft.shape.scopes,
  expires: given.optional(),
})

/** `keys create`: an API key, whose text is printed this once. */
export function create(command: Command, ctx: Context): void {
  signInFlags(
    dryRunFlag(
      scopeFlag(command.requiredOption('--name <name>', 'what you will know the key by')).option(
        '--expires <time>',
        'until when it works: 90d from now, 2027-01-31 (to its end, UTC) or RFC 3339; for ever if not given',
      ),
    ),
  )
    .addHelpText(
      'after',
      `${aboutSignIn}

The key is printed this once: the instance keeps no more than a hash of it.

Examples:
  $ consentctl keys create --email privacy@example.com --name backend --scope read,write
  $ consentctl keys create --email privacy@example.com --name ci --expires 90d --json > key.json`,
    )
    .action(
      action(ctx, Options, unlessDry(newKeyView), async (_, { name, scope, expires, dryRun, ...who }) => {
        const body = { name, scopes: scope, expires_at: expires && comingInstant(expires, new Date()) }
        if (dryRun) return rehearsed(ctx, [{ endpoint: keys.create, body }])
        const api = await signIn(ctx, who)
        const key = await api.call(keys.create, { body })
        await ctx.say(`created key ${key.id} on ${instanceOf(ctx)}`)
        return one(newKeyView, key, { mutates: true })
      }),
    )
}
