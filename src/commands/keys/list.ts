import type { Command } from 'commander'
import * as z from 'zod'
import { action } from '../../cli/action.ts'
import { countedList } from '../../cli/output.ts'
import { addSignInFlags, signIn, signInHelp, signInOptions } from '../../cli/sign-in.ts'
import type { Context } from '../../context.ts'
import { keys } from '../../contract/keys.ts'
import { keyView } from '../../views/account.ts'

export function list(command: Command, ctx: Context): void {
  addSignInFlags(command)
    .description(`${signInHelp}

Examples:
  $ consentctl keys list --email privacy@example.com
  $ consentctl keys list --email privacy@example.com --password-stdin -o json < password.txt`)
    .action(
      action(ctx, z.strictObject(signInOptions), keyView, async (_, options) => {
        const api = await signIn(ctx, options)
        const { data } = await api.call(keys.list, {})
        return countedList(ctx, keyView, data, 'key')
      }),
    )
}
