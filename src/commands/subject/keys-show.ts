import type { Command } from 'commander'
import * as z from 'zod'
import { action } from '../../cli/action.ts'
import type { Context } from '../../context.ts'
import { keyFile, openReceiptKey } from '../../erasure/keys.ts'
import { publicPem } from '../../evidence/keys.ts'

/** `subject keys show`: what others need to verify the receipts of a profile. */
export function keysShow(command: Command, ctx: Context): void {
  command
    .addHelpText(
      'after',
      `
Prints the public key, in PEM. The private key is made when it is first needed, for you alone; keep a
backup of it: without it nobody can tell whose erasure a receipt is about.

Examples:
  $ consentctl subject keys show
  $ consentctl subject keys show -p production > receipts.pem`,
    )
    .action(
      action(ctx, z.strictObject({}), async () => {
        const { key } = await openReceiptKey(ctx)
        await ctx.io.out.write(publicPem(key))
        if (ctx.io.out.isTerminal) await ctx.say(`the private key is in ${keyFile(ctx)}`)
      }),
    )
}
