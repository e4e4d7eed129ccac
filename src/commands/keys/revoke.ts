import type { Command } from 'commander'
import * as z from 'zod'
import type { Client } from '../../client/client.ts'
import type { Context } from '../../context.ts'
import { keys } from '../../contract/keys.ts'
import { CliError, usageError } from '../../errors.ts'
import { exit } from '../../exit.ts'
import { canAsk } from '../../io/prompt.ts'
import { keyView } from '../../views/key.ts'
import { action, Ids } from '../action.ts'
import { confirm } from '../confirm.ts'
import { forEach } from '../each.ts'
import { counted, instanceOf } from '../instance.ts'
import { many } from '../output.ts'
import { aboutSignIn, signIn, signInFlags, signInOptions } from '../sign-in.ts'

const Options = z.strictObject({ ...signInOptions, operands: Ids, yes: z.literal(true).optional() })

/** `keys revoke`: ends API keys, after a look at them. */
export function revoke(command: Command, ctx: Context): void {
  signInFlags(
    command
      .argument('<id...>', 'ids of keys, as keys list shows them')
      .option('-y, --yes', 'do not ask; needed where nobody can be asked'),
  )
    .addHelpText(
      'after',
      `${aboutSignIn}

A revoked key is refused from now on, and for good. Without --yes the keys are shown first, and one is
asked about with y/N, several by their number.

Examples:
  $ consentctl keys revoke 01939d2c-7b1a-7c3e-9a51-2f6a1f0d9b11 --email privacy@example.com
  $ consentctl keys revoke 01939d2c-7b1a-7c3e-9a51-2f6a1f0d9b11 --yes --password-stdin < password.txt`,
    )
    .action(
      action(ctx, Options, keyView, async (_, { operands, yes, ...who }) => {
        if (!yes && !canAsk(ctx.io))
          throw usageError('nobody can be asked here whether to revoke', 'add --yes if you are sure')
        const ids = [...new Set(operands)]
        const api = await signIn(ctx, who)
        if (!yes) await confirmed(ctx, api, ids)
        const { pages, exit } = forEach(
          ctx,
          ids,
          async id => [await api.call(keys.revoke, { params: { id } })],
          done => ctx.say(`revoked ${counted(done, 'key')} on ${instanceOf(ctx)}`),
        )
        return many(keyView, pages, { mutates: true, exit, single: operands.length === 1 })
      }),
    )
}

/** Shows what would end and asks; throws when it is declined, and for an id that no key has. */
async function confirmed(ctx: Context, api: Client, ids: readonly string[]): Promise<void> {
  const { data } = await api.call(keys.list, {})
  const found = ids.map(id => {
    const key = data.find(each => each.id === id)
    if (!key) throw new CliError('not_found', exit.notFound, `no key with id ${id}`)
    if (key.revoked_at !== null)
      throw new CliError('not_found', exit.notFound, `key ${id} is revoked already`)
    return key
  })
  await confirm(ctx, keyView, found, { action: 'revoke', noun: 'key', where: instanceOf(ctx) })
}
