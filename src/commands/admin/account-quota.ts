import type { Command } from 'commander'
import * as z from 'zod'
import { action, nonEmpty } from '../../cli/action.ts'
import { addDatabaseFlags, databaseOptions, serverHost } from '../../cli/database.ts'
import { many, one, pagesOf } from '../../cli/output.ts'
import type { Context } from '../../context.ts'
import { type AccountRow, planQuotas } from '../../contract/server.ts'
import type { View } from '../../output/index.ts'
import { field, minute } from '../../views/field.ts'

const accountRowView: View<AccountRow> = {
  id: row => row.account_id,
  columns: [
    field('account_id', { whole: true, rank: 1 }),
    field('email', { rank: 2 }),
    field('plan', { text: describePlan, rank: 6 }),
    field('monthly_quota', { whole: true, rank: 3 }),
    field('used', { whole: true, rank: 4 }),
    field('remaining', { whole: true, rank: 5 }),
    field('created_at', { text: row => minute(row.created_at), rank: 7 }),
  ],
}

/** A quota of its own replaces the plan's. */
function describePlan({ plan, monthly_quota }: AccountRow): string {
  const quotas: Readonly<Record<string, number | null>> = planQuotas
  return quotas[plan] === monthly_quota ? plan : 'own quota'
}

export function list(command: Command, ctx: Context): void {
  addDatabaseFlags(command)
    .description(`
Shows every account with its owner, its monthly quota and its usage this month (UTC), oldest first. Requests that
the nodes of a running server have reserved count as used.

Examples:
  $ consentctl admin account list
  $ consentctl admin account list --database-url postgres://… -o csv`)
    .action(
      action(ctx, z.strictObject(databaseOptions), accountRowView, async (_, options) => {
        const { listAccounts } = await ctx.loadServer()
        return many(accountRowView, pagesOf(await listAccounts(options, serverHost(ctx))))
      }),
    )
}

const QuotaOptions = z.strictObject({
  ...databaseOptions,
  operands: z.tuple([
    nonEmpty,
    z
      .string()
      .regex(/^(none|\d{1,15})$/, 'must be a whole number, or none')
      .transform(text => (text === 'none' ? null : Number(text))),
  ]),
})

export function quota(command: Command, ctx: Context): void {
  addDatabaseFlags(
    command
      .argument('<account>', 'id of the account, or the e-mail address of its owner')
      .argument('<n>', 'monthly quota of API requests, or none for no limit'),
  )
    .description(`
Running nodes follow within two seconds. The usage of this month stays: with a lower quota, requests are rejected
until the month ends (UTC).

Examples:
  $ consentctl admin account quota privacy@example.com 50000
  $ consentctl admin account quota privacy@example.com none --json`)
    .action(
      action(ctx, QuotaOptions, accountRowView, async (_, { operands: [account, monthlyQuota], ...options }) => {
        const { setQuota } = await ctx.loadServer()
        const row = await setQuota(options, { account, monthlyQuota }, serverHost(ctx))
        return one(accountRowView, row, { mutates: true })
      }),
    )
}
