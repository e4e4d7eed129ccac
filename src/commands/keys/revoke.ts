import type { Command } from 'commander'
import * as z from 'zod'
import { action, Ids } from '../../cli/action.ts'
import {
  addConfirmFlags,
  confirmOptions,
  mustPrompt,
  promptToConfirm,
  requireConfirmedCount,
} from '../../cli/confirm.ts'
import { addDryRunFlag, dryRunOption, dryRunOutput, viewUnlessDryRun } from '../../cli/dry-run.ts'
import { runForEach } from '../../cli/ids.ts'
import { formatCount, instanceLabel } from '../../cli/messages.ts'
import { many } from '../../cli/output.ts'
import { addSignInFlags, signIn, signInHelp, signInOptions } from '../../cli/sign-in.ts'
import type { Client } from '../../client/client.ts'
import type { Context } from '../../context.ts'
import { type ApiKey, keys } from '../../contract/keys.ts'
import { CliError, exit } from '../../errors/errors.ts'
import { keyView } from '../../views/account.ts'

const Options = z.strictObject({ ...signInOptions, ...dryRunOption, ...confirmOptions, operands: Ids })

export function revoke(command: Command, ctx: Context): void {
  addSignInFlags(addDryRunFlag(addConfirmFlags(command.argument('<id...>', 'ids of keys (see keys list)'), 'key')))
    .description(`${signInHelp}

Revoking cannot be undone. Without --yes the keys are shown and you confirm with y, or for several keys
by typing their number.

Examples:
  $ consentctl keys revoke 01939d2c-7b1a-7c3e-9a51-2f6a1f0d9b11 --email privacy@example.com
  $ consentctl keys revoke 01939d2c-7b1a-7c3e-9a51-2f6a1f0d9b11 --yes --password-stdin < password.txt`)
    .action(action(ctx, Options, viewUnlessDryRun(keyView), run))
}

async function run(ctx: Context, { operands, dryRun, yes, confirm, ...who }: z.output<typeof Options>) {
  const ids = [...new Set(operands)]
  if (dryRun)
    return dryRunOutput(
      ctx,
      ids.map(id => ({ endpoint: keys.revoke, params: { id } })),
    )
  const asks = mustPrompt(ctx, { yes, confirm }, { action: 'revoke' })
  const api = await signIn(ctx, who)
  if (asks || confirm !== undefined) {
    const found = await find(api, ids, !asks)
    requireConfirmedCount({ confirm }, found.length, 'key', 'revoked')
    if (asks)
      await promptToConfirm(ctx, keyView, found, {
        action: 'revoke',
        noun: 'key',
        where: instanceLabel(ctx),
      })
  }
  const { pages, exit } = runForEach(
    ctx,
    ids,
    async id => [await api.call(keys.revoke, { params: { id } })],
    done => ctx.say(`revoked ${formatCount(done, 'key')} on ${instanceLabel(ctx)}`),
  )
  return many(keyView, pages, { mutates: true, exit, single: operands.length === 1 })
}

/** @throws CliError `not_found` (exit 3) for an unknown or revoked key, unless `mayMiss` */
async function find(api: Client, ids: readonly string[], mayMiss: boolean): Promise<ApiKey[]> {
  const { data } = await api.call(keys.list, {})
  return ids.flatMap(id => {
    const key = data.find(each => each.id === id)
    if (key && key.revoked_at === null) return [key]
    if (mayMiss) return []
    throw new CliError('not_found', exit.notFound, key ? `key ${id} is already revoked` : `no key with id ${id}`)
  })
}
