import type { Command } from 'commander'
import * as z from 'zod'
import { action, nonEmpty } from '../../cli/action.ts'
import { addDatabaseFlags, databaseOptions, serverHost } from '../../cli/database.ts'
import { formatCount } from '../../cli/messages.ts'
import { many, reportInvalid } from '../../cli/output.ts'
import type { Context } from '../../context.ts'
import type { Inspected } from '../../contract/server.ts'
import { Uuid } from '../../contract/values.ts'
import { dataError, exit } from '../../errors/errors.ts'
import { limitHeapGrowth } from '../../io/memory.ts'
import { findingView } from '../../views/verification.ts'

const Options = z.strictObject({
  ...databaseOptions,
  account: Uuid.optional(),
  checkpoint: nonEmpty.optional(),
  tsaCa: nonEmpty.optional(),
})

export function verify(command: Command, ctx: Context): void {
  addDatabaseFlags(
    command
      .option('--account <id>', 'only this account')
      .option('--checkpoint <file>', 'also compare with the checkpoints in a file written by admin checkpoint')
      .option('--tsa-ca <file>', 'also verify the timestamps with this certificate of their authority'),
  )
    .description(`
Reads the database itself, with or without a running server. Reports records that were changed, shortened,
reordered, lost or forged. If a record and its log were rewritten together, only the checkpoint shows it: the account
and the range of entries are named instead of the record. Only checkpoints kept elsewhere reveal a rewrite of the
whole database. A log contains the entries of records and of administrators; admin checkpoint counts both. The exit code is 0 if nothing is found, else 5. --tsa-ca needs openssl.

Examples:
  $ consentctl admin verify
  $ consentctl admin verify --checkpoint checkpoints.txt -o ndjson
  $ consentctl admin verify --tsa-ca ca.pem`)
    .action(
      action(ctx, Options, findingView, async (_, { account, checkpoint, tsaCa, ...options }) => {
        const kept = checkpoint === undefined ? [] : await readKeptFile(checkpoint)
        limitHeapGrowth()
        const { verifyDatabase } = await ctx.loadServer()
        const scope = { account, kept, tsaCa, signal: ctx.interruption }
        const { findings, inspected } = verifyDatabase(options, scope, serverHost(ctx))
        let found = 0
        async function* pages() {
          for await (const page of findings) {
            found += page.length
            yield page
          }
        }
        return many(findingView, pages(), {
          exit: () => (found > 0 ? exit.rejected : exit.done),
          footer: async () => {
            if (found === 0) await ctx.say(`verified ${summary(inspected, tsaCa !== undefined)}`)
            else
              await reportInvalid(
                ctx,
                `${found} ${found === 1 ? 'finding' : 'findings'} in ${summary(inspected, tsaCa !== undefined)}`,
              )
          },
        })
      }),
    )
}

async function readKeptFile(file: string): Promise<string[]> {
  const { readKept } = await import('../../receipts/kept-checkpoints.ts')
  const { text, checkpoints } = readKept(file)
  if (text === null) throw dataError(`there is no file ${file}`, 'consentctl admin checkpoint creates one')
  return checkpoints.map(checkpoint => checkpoint.text)
}

const formatEntries = (count: number) => `${count} ${count === 1 ? 'entry' : 'entries'}`

function summary(inspected: Inspected, isStamped: boolean): string {
  const { accounts, records, entries, administration, checkpoints, timestamps } = inspected
  const what = [
    `${formatCount(records)} with ${formatEntries(entries)}`,
    `${formatEntries(administration)} of the administrators’ log`,
    formatCount(checkpoints, 'checkpoint'),
    ...(isStamped ? [formatCount(timestamps, 'timestamp')] : []),
  ]
  return `${what.join(', ')}, of ${formatCount(accounts, 'account')}`
}
