import { type Command, Option } from 'commander'
import * as z from 'zod'
import { action, nonEmpty } from '../../cli/action.ts'
import { mustPrompt, promptToConfirm } from '../../cli/confirm.ts'
import { addDatabaseFlags, databaseOptions, serverHost } from '../../cli/database.ts'
import { formatCount } from '../../cli/messages.ts'
import { many, one, pagesOf } from '../../cli/output.ts'
import { readPassword } from '../../cli/sign-in.ts'
import type { Context } from '../../context.ts'
import { roles } from '../../contract/roles.ts'
import type { NewUser, RemovedUser, UserInfo } from '../../contract/server.ts'
import { type Column, type View, visible } from '../../output/index.ts'
import { field, minute } from '../../views/field.ts'

const columns: readonly Column<UserInfo>[] = [
  field('account_id', { whole: true, rank: 4 }),
  field('id', { whole: true, rank: 5 }),
  field('email', { whole: true, rank: 1 }),
  field('role', { whole: true, rank: 2 }),
  field('keys', { rank: 3.5 }),
  field('created_at', { text: row => minute(row.created_at), rank: 6 }),
]

const userView: View<UserInfo> = { id: user => user.email, columns }

const newUserView = (isGenerated: boolean): View<NewUser> => ({
  id: user => user.email,
  columns: [...columns, field('password', { whole: true, once: isGenerated, rank: 3 })],
})

const AddOptions = z.strictObject({
  ...databaseOptions,
  account: nonEmpty.optional(),
  email: nonEmpty,
  role: z.enum(roles),
  passwordStdin: z.literal(true).optional(),
})

export function add(command: Command, ctx: Context): void {
  addDatabaseFlags(
    command
      .requiredOption('--email <address>', 'e-mail address that the user signs in with')
      .addOption(
        new Option('--role <role>', 'what the user may do (see below)').choices([...roles]).makeOptionMandatory(),
      )
      .option('--account <account>', 'id of the account, or a user’s e-mail; required if there are several')
      .option('--password-stdin', 'read the password from standard input instead of generating one'),
  )
    .description(`
An owner may do everything. An operator sees everything, and changes records and the register of requests:
also erasures, withdrawals and purges. A publisher sees and publishes notices, and sees sites and statistics,
but nothing about a person. A reader sees everything and changes nothing. Only an owner manages sites and
keys. A generated password is shown only once.

Examples:
  $ consentctl admin user add --email auditor@example.com --role reader
  $ consentctl admin user add --email support@example.com --role operator
  $ consentctl admin user add --email li@example.com --role owner --account privacy@example.com`)
    .action(
      action(
        ctx,
        AddOptions,
        ({ passwordStdin }) => newUserView(!passwordStdin),
        async (_, { databaseUrl, dataDir, passwordStdin, ...draft }) => {
          const password = passwordStdin ? await readPassword(ctx) : undefined
          const { addUser } = await ctx.loadServer()
          const user = await addUser({ databaseUrl, dataDir }, { ...draft, password }, serverHost(ctx))
          return one(newUserView(!passwordStdin), user, { mutates: true })
        },
      ),
    )
}

export function list(command: Command, ctx: Context): void {
  addDatabaseFlags(command.option('--account <account>', 'list only users of this account: its id, or a user’s e-mail'))
    .description(`
Examples:
  $ consentctl admin user list
  $ consentctl admin user list --account privacy@example.com -o json`)
    .action(
      action(
        ctx,
        z.strictObject({ ...databaseOptions, account: nonEmpty.optional() }),
        userView,
        async (_, { account, ...options }) => {
          const { listUsers } = await ctx.loadServer()
          return many(userView, pagesOf(await listUsers(options, account, serverHost(ctx))))
        },
      ),
    )
}

const RemoveOptions = z.strictObject({
  ...databaseOptions,
  email: nonEmpty,
  keepKeys: z.literal(true).optional(),
  yes: z.literal(true).optional(),
})

const removedView: View<RemovedUser> = {
  id: user => user.email,
  columns: [...columns, field('ended_keys', { rank: 7 }), field('kept_keys', { rank: 8 })],
}

export function remove(command: Command, ctx: Context): void {
  addDatabaseFlags(
    command
      .requiredOption('--email <address>', 'e-mail address that the user signs in with')
      .option('--keep-keys', 'keep the API keys that the user created, and list them')
      .option('-y, --yes', 'skip the confirmation prompt'),
  )
    .description(`
Ends every session of the user, and revokes and lists the API keys that the user created; --keep-keys keeps them
valid. A key created with the account belongs to no user and stays valid. The histories keep the user's changes under
the id of the user. The last owner of an account cannot be removed.

Examples:
  $ consentctl admin user remove --email auditor@example.com
  $ consentctl admin user remove --email li@example.com --keep-keys --yes`)
    .action(
      action(ctx, RemoveOptions, removedView, async (_, { email, yes, keepKeys, ...options }) => {
        const asks = mustPrompt(ctx, { yes }, { action: 'remove the user', isUncounted: true })
        const { listUsers, removeUser } = await ctx.loadServer()
        if (asks) {
          const users = await listUsers(options, email, serverHost(ctx))
          const rows = users.filter(user => user.email === email.toLowerCase())
          await promptToConfirm(ctx, userView, rows, {
            action: 'remove',
            noun: 'user',
            where: 'this database',
            notes: rows.map(({ keys }) => `${formatCount(keys, 'API key')} of the user ${keepKeys ? 'stay' : 'end'}`),
            total: 1,
          })
        }
        const removed = await removeUser(options, { email, keepKeys }, serverHost(ctx))
        for (const { id, name } of removed.ended_keys) await ctx.say(`revoked key ${id} (${visible(name)})`)
        for (const { id, name } of removed.kept_keys) await ctx.warn(`key ${id} (${visible(name)}) stays valid`)
        return one(removedView, removed, { mutates: true })
      }),
    )
}
