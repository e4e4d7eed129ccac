import type { Command } from 'commander'
import * as z from 'zod'
import { action, nonEmpty } from '../../cli/action.ts'
import { addDatabaseFlags, databaseOptions, serverHost } from '../../cli/database.ts'
import { many, pagesOf, reportInvalid } from '../../cli/output.ts'
import type { Context } from '../../context.ts'
import { Uuid } from '../../contract/values.ts'
import { exit } from '../../errors/errors.ts'
import { type CheckpointRow, checkpointView } from '../../views/verification.ts'

const Options = z.strictObject({ ...databaseOptions, account: Uuid.optional(), file: nonEmpty })

export function checkpoint(command: Command, ctx: Context): void {
  addDatabaseFlags(
    command
      .requiredOption('--file <file>', 'file to append the checkpoints to; created if missing')
      .option('--account <id>', 'only this account'),
  )
    .description(`
The log must agree with every checkpoint in the file; otherwise the file is not changed and the exit code is 5. Signs with the key of the environment (SIGNING_KEY_FILE), as the server does.

Examples:
  $ consentctl admin checkpoint --file checkpoints.txt
  $ consentctl admin checkpoint --file checkpoints.txt --data-dir /var/lib/consentctl`)
    .action(
      action(ctx, Options, checkpointView, async (_, { account, file, ...options }) => {
        const { addKept, readKept } = await import('../../receipts/kept-checkpoints.ts')
        const { readCheckpoint } = await import('../../evidence/signed.ts')
        const before = readKept(file)
        const { takeCheckpoints } = await ctx.loadServer()
        const kept = before.checkpoints.map(({ text }) => text)
        const scope = { account, kept, signal: ctx.interruption }
        const { findings, checkpoints } = await takeCheckpoints(options, scope, serverHost(ctx))
        const wrong = findings.map(
          ({ account_id, detail }): CheckpointRow => ({
            ...nothing,
            account_id,
            result: 'not_valid',
            detail,
          }),
        )
        if (wrong.length > 0) {
          return many(checkpointView, pagesOf(wrong), {
            exit: () => exit.rejected,
            footer: () => reportInvalid(ctx, `the log is not as it should be; ${file} stays as it is`),
          })
        }
        await addKept(file, before, checkpoints)
        const rows = checkpoints.map((text): CheckpointRow => {
          const { account_id, tree_size, root_hash, created_at } = readCheckpoint(text).checkpoint
          return { account_id, tree_size, root_hash, created_at, result: 'kept', detail: null }
        })
        return many(checkpointView, pagesOf(rows), { mutates: true })
      }),
    )
}

const nothing = { tree_size: null, root_hash: null, created_at: null }
