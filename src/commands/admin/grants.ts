import type { Command } from 'commander'
import * as z from 'zod'
import { textAction } from '../../cli/action.ts'
import type { Context } from '../../context.ts'

const Options = z.strictObject({
  serviceRole: z
    .string()
    .regex(/^[^\0\r\n]{1,63}$/, 'must be the name of a role, at most 63 characters')
    .default('consentctl_service'),
})

export function grants(command: Command, ctx: Context): void {
  command
    .option('--service-role <name>', 'the role that the server connects as (default: consentctl_service)')
    .description(`
Prints what the role may do with each table, for you to review and to run as the role that owns the tables. With
this role the server inserts into history and log, and changes them only through the functions of a purge and of a
checkpoint. The SQL is the same on PostgreSQL and on Citus, and can be run again. It reads no database.

The server logs which role it has. Migrations, and so the first start of a new version, need the owner's role.

Examples:
  $ consentctl admin grants
  $ consentctl admin grants --service-role shop | psql "$OWNER_DATABASE_URL"`)
    .action(
      textAction(ctx, Options, async (_, { serviceRole }) => {
        const { grantsFor } = await ctx.loadServer()
        return grantsFor(serviceRole)
      }),
    )
}
