import type { Command } from 'commander'
import * as z from 'zod'
import { action, nonEmpty } from '../../cli/action.ts'
import { addDatabaseFlags, databaseOptions, serverHost } from '../../cli/database.ts'
import { one } from '../../cli/output.ts'
import { readPassword } from '../../cli/sign-in.ts'
import type { Context } from '../../context.ts'
import { type NewAccount, plans } from '../../contract/server.ts'
import type { View } from '../../output/index.ts'

const Options = z.strictObject({
  ...databaseOptions,
  email: nonEmpty,
  site: nonEmpty.optional(),
  plan: z.enum(plans, `must be one of ${plans.join(', ')}`).optional(),
  monthlyQuota: z
    .string()
    .regex(/^\d{1,15}$/, 'must be a whole number')
    .transform(Number)
    .optional(),
  passwordStdin: z.literal(true).optional(),
})

const accountView: View<NewAccount> = {
  id: account => account.account_id,
  columns: [
    { name: 'account_id', value: account => account.account_id, whole: true, rank: 1 },
    { name: 'user_id', value: account => account.user.id, whole: true },
    { name: 'email', value: account => account.user.email, whole: true },
    { name: 'password', value: account => account.user.password, whole: true, once: true },
    { name: 'site_id', value: account => account.site.id, whole: true },
    { name: 'site_name', value: account => account.site.name, whole: true },
    { name: 'site_token', value: account => account.site.token, whole: true, once: true },
    { name: 'api_key', value: account => account.api_key, whole: true, once: true },
  ],
}

export function create(command: Command, ctx: Context): void {
  addDatabaseFlags(
    command
      .requiredOption('--email <address>', 'e-mail address that the owner signs in with')
      .option('--site <name>', 'name of the first site (default)')
      .option('--plan <plan>', `${plans.join(', ')} (unlimited)`)
      .option('--monthly-quota <n>', 'monthly quota of API requests, instead of the plan’s')
      .option('--password-stdin', 'read the owner’s password from standard input instead of generating one'),
  )
    .description(`
The password (if generated), the site token and the API key are shown only once: the database stores only hashes.

Examples:
  $ consentctl admin account create --email privacy@example.com --site Shop
  $ consentctl admin account create --email ci@example.com --plan free --json --out account.json`)
    .action(
      action(ctx, Options, accountView, async (_, { databaseUrl, dataDir, passwordStdin, ...draft }) => {
        const password = passwordStdin ? await readPassword(ctx) : undefined
        const { createAccount } = await ctx.loadServer()
        const account = await createAccount({ databaseUrl, dataDir }, { ...draft, password }, serverHost(ctx))
        return one(accountView, account, { mutates: true })
      }),
    )
}
