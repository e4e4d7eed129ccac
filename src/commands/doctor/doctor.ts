import type { Command } from 'commander'
import * as z from 'zod'
import { action } from '../../cli/action.ts'
import { checksOutput } from '../../cli/checks.ts'
import type { Context } from '../../context.ts'
import { checkView } from '../../views/program.ts'
import { checkInstance } from './instance.ts'
import { checkHere } from './local.ts'

export function doctor(command: Command, ctx: Context): void {
  command
    .description(`
Checks the files, the address, the connection to the instance, its clock, the key, the quota, and webhooks if
the key has the scope webhooks. Only the current instance gets requests; checking the key counts as one
request of the quota, and listing webhooks as another. Permissions that let others read the keys are
corrected. Exit code 0 if nothing failed, else that of the first failure: 2 settings, 4 key, 6 quota,
7 connection. -q prints the names of failed checks.

Examples:
  $ consentctl doctor
  $ consentctl doctor -p staging -o json`)
    .action(
      action(ctx, z.strictObject({}), checkView, async () =>
        checksOutput(ctx, [...(await checkHere(ctx)), ...(await checkInstance(ctx))]),
      ),
    )
}
