import type { Command } from 'commander'
import * as z from 'zod'
import { action } from '../../cli/action.ts'
import {
  addConfirmFlags,
  confirmOptions,
  mustPrompt,
  promptToConfirm,
  requireConfirmedCount,
} from '../../cli/confirm.ts'
import { addDatabaseFlags, databaseOptions, serverHost } from '../../cli/database.ts'
import { formatCount } from '../../cli/messages.ts'
import { many } from '../../cli/output.ts'
import type { Context } from '../../context.ts'
import type { AccountPurge, DatabaseFinding } from '../../contract/server.ts'
import { type CliError, exit } from '../../errors/errors.ts'
import type { View } from '../../output/index.ts'

const Options = z.strictObject({
  ...databaseOptions,
  ...confirmOptions,
  olderThan: z
    .string()
    .regex(/^\d{1,5}$/, 'must be a whole number of days')
    .transform(Number)
    .optional(),
  dryRun: z.literal(true).optional(),
})

type PurgeOptions = z.output<typeof Options>

const purgeView: View<AccountPurge> = {
  id: account => account.account_id,
  columns: [
    { name: 'account_id', value: account => account.account_id, whole: true, rank: 1 },
    { name: 'expired', value: account => account.expired, rank: 3 },
    { name: 'purged', value: account => account.purged, rank: 2 },
    { name: 'proofs', value: account => account.proofs, rank: 4 },
  ],
}

const titles: Readonly<Record<string, string>> = {
  expired: 'would delete',
  purged: 'would purge',
  proofs: 'sealed proofs to remove',
}

const planView: View<AccountPurge> = {
  ...purgeView,
  columns: purgeView.columns.map(column => ({ ...column, title: titles[column.name] ?? column.name })),
}

const viewOf = ({ dryRun }: PurgeOptions) => (dryRun ? planView : purgeView)

export function purge(command: Command, ctx: Context): void {
  addConfirmFlags(
    addDatabaseFlags(
      command
        .option('--older-than <days>', 'days since the deletion (PURGE_AFTER_DAYS, or 30 if that is never)')
        .option('--dry-run', 'count what would be purged without changing anything'),
    ),
    'record',
  )
    .description(`
First deletes the records whose retention has ended (consentctl sites update --retain). Then permanently removes the
subject, label, IP address, user agent and preferences from every record deleted that long ago, and from its history.
The rest stays (accepted or refused, when, changed by whom), with an entry about the purge, and the hash chain still
verifies. It is pseudonymous, not anonymous.

A record whose history does not verify is not purged, because that would destroy the evidence: it is named on stderr,
and the exit code is 8. See consentctl admin verify. --dry-run and --confirm count such records too.

It can run beside a server and other purges. Ctrl-C stops it after the current batch; run it again to continue.
--older-than 0 purges everything that is deleted.

Examples:
  $ consentctl admin purge --dry-run
  $ consentctl admin purge --older-than 7 --yes`)
    .action(
      action(ctx, Options, viewOf, async (_, options) => {
        const unverified = { records: 0 }
        const code = () => (unverified.records > 0 ? exit.partial : exit.done)
        return many(viewOf(options), purged(ctx, options, unverified), {
          mutates: true,
          exit: () => (ctx.interruption.aborted ? (ctx.interruption.reason as CliError).exit : code()),
        })
      }),
    )
}

async function* purged(
  ctx: Context,
  { databaseUrl, dataDir, olderThan, dryRun, ...sure }: PurgeOptions,
  unverified: { records: number },
): AsyncGenerator<readonly AccountPurge[]> {
  const asks = !dryRun && mustPrompt(ctx, sure, { action: 'purge' })
  let planned: readonly AccountPurge[] = []
  const approve = async (found: readonly AccountPurge[], records: number) => {
    if (dryRun) planned = found
    else await confirmPurge(ctx, found, records, { ...sure, asks })
    return !dryRun
  }
  const { purge } = await ctx.loadServer()
  const onUnverified = async ({ account_id, consent_id, detail }: DatabaseFinding) => {
    unverified.records += 1
    await ctx.warn(`did not purge the record ${consent_id} of the account ${account_id}: ${detail}`)
  }
  const order = { olderThan, approve, onUnverified, onProblem: ctx.warn, signal: ctx.interruption }
  const done = { expired: 0, purged: 0, proofs: 0 }
  for await (const account of purge({ databaseUrl, dataDir }, order, serverHost(ctx))) {
    done.expired += account.expired
    done.purged += account.purged
    done.proofs += account.proofs
    yield [account]
  }
  if (dryRun) {
    yield planned
    const [expired, due] = [sumOf(planned, 'expired'), sumOf(planned, 'purged')]
    await ctx.say(`${formatCount(due)} would be purged and ${formatCount(expired, 'expired record')} deleted`)
    return await sayProofs(ctx, sumOf(planned, 'proofs'), 'would be removed')
  }
  if (done.expired > 0) await ctx.say(`deleted ${formatCount(done.expired, 'expired record')}`)
  await ctx.say(`purged ${formatCount(done.purged)}`)
  await sayProofs(ctx, done.proofs, 'removed')
  if (unverified.records > 0)
    await ctx.warn(
      `did not purge ${formatCount(unverified.records)} whose history does not verify: run consentctl admin verify`,
    )
  if (ctx.interruption.aborted) await ctx.warn('interrupted: run it again to purge the rest')
}

/** @throws CliError `changed` (exit 10), or `declined` (exit 9) */
async function confirmPurge(
  ctx: Context,
  found: readonly AccountPurge[],
  total: number,
  { asks, ...sure }: Pick<PurgeOptions, 'yes' | 'confirm'> & { asks: boolean },
): Promise<void> {
  requireConfirmedCount(sure, total, 'record', 'purged')
  const question = { action: 'purge', noun: 'record', where: 'this database, permanently', total }
  if (asks && total > 0) await promptToConfirm(ctx, planView, found, question)
}

async function sayProofs(ctx: Context, count: number, what: string): Promise<void> {
  if (count > 0) await ctx.say(`${formatCount(count, 'sealed proof')} that ended ${what}`)
}

function sumOf(accounts: readonly AccountPurge[], what: 'expired' | 'purged' | 'proofs'): number {
  return accounts.reduce((sum, account) => sum + account[what], 0)
}
