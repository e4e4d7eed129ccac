import type { Command } from 'commander'
import * as z from 'zod'
import { action } from '../../cli/action.ts'
import type { Context } from '../../context.ts'
import { publicPem } from '../../evidence/keys.ts'
import { openReceiptKey } from '../../receipts/signer.ts'
import { locateReceipts } from '../../receipts/store.ts'

export function show(command: Command, ctx: Context): void {
  command
    .description(`
Prints the public key in PEM, which colleagues compare with the one that the service knows. The private key is created at
first use, readable only by you. Back it up: without it a receipt with HMACs of the profile cannot be matched to a
person.

Examples:
  $ consentctl subject keys show
  $ consentctl subject keys show -p production > receipts.pem`)
    .action(
      action(ctx, z.strictObject({}), async () => {
        const store = locateReceipts(ctx)
        const { key } = await openReceiptKey(store)
        await ctx.io.out.write(publicPem(key))
        if (ctx.io.out.isTerminal) await ctx.say(`the private key is in ${store.keyFile}`)
      }),
    )
}
