import type { Command } from 'commander'
import * as z from 'zod'
import { action, nonEmpty } from '../../cli/action.ts'
import { addDatabaseFlags, databaseOptions, serverHost } from '../../cli/database.ts'
import { one } from '../../cli/output.ts'
import { readPassword } from '../../cli/sign-in.ts'
import type { Context } from '../../context.ts'
import type { NewPassword } from '../../contract/server.ts'
import type { View } from '../../output/index.ts'

const Options = z.strictObject({
  ...databaseOptions,
  email: nonEmpty,
  passwordStdin: z.literal(true).optional(),
})

const viewOf = (isGenerated: boolean): View<NewPassword> => ({
  id: user => user.email,
  columns: [
    { name: 'email', value: user => user.email, whole: true, rank: 1 },
    { name: 'password', value: user => user.password, whole: true, once: isGenerated, rank: 2 },
  ],
})

export function password(command: Command, ctx: Context): void {
  addDatabaseFlags(
    command
      .requiredOption('--email <address>', 'e-mail address that the user signs in with')
      .option('--password-stdin', 'read the new password from standard input instead of generating one'),
  )
    .description(`
Ends every session of the user; API keys keep working. A generated password is shown only once.

Examples:
  $ consentctl admin user password --email privacy@example.com
  $ consentctl admin user password --email privacy@example.com --password-stdin < password.txt`)
    .action(
      action(
        ctx,
        Options,
        ({ passwordStdin }) => viewOf(!passwordStdin),
        async (_, { databaseUrl, dataDir, email, passwordStdin }) => {
          const password = passwordStdin ? await readPassword(ctx) : undefined
          const { resetPassword } = await ctx.loadServer()
          const user = await resetPassword({ databaseUrl, dataDir }, { email, password }, serverHost(ctx))
          return one(viewOf(!passwordStdin), user, { mutates: true })
        },
      ),
    )
}
