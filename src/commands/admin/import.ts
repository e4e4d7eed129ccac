import type { Command } from 'commander'
import * as z from 'zod'
import { action, nonEmpty } from '../../cli/action.ts'
import { addDatabaseFlags, databaseOptions, serverHost } from '../../cli/database.ts'
import type { Context } from '../../context.ts'
import { nameOf, readChunks } from '../../io/input.ts'
import { formatTransferred } from './transferred.ts'

const Options = z.strictObject({ ...databaseOptions, operands: z.array(nonEmpty).length(1) })

export function importCommand(command: Command, ctx: Context): void {
  addDatabaseFlags(command.argument('<file>', 'file of admin export; - is standard input'))
    .description(`
The database must be empty: no server was ever started on it. Either everything is imported, or nothing: a file that
was truncated or changed, or has a later schema, is rejected with exit code 5. Afterwards, run "admin verify" to
verify the histories.

Start the servers on the new database with their old settings: keys, passwords and sessions keep working.

Examples:
  $ consentctl admin import consents.ndjson --data-dir /var/lib/consentctl
  $ gunzip -c consents.ndjson.gz | consentctl admin import -`)
    .action(
      action(ctx, Options, async (_, { operands: [file = ''], ...options }) => {
        const source = await readFirst(ctx, readChunks(ctx.io, file, ctx.interruption))
        const { importDatabase } = await ctx.loadServer()
        const order = { source, name: nameOf(file), signal: ctx.interruption }
        const done = await importDatabase(options, order, serverHost(ctx))
        await ctx.say(`imported ${formatTransferred(done)}; run consentctl admin verify to verify the histories`)
        if (done.withoutSecrets) await ctx.warn(afterSecrets)
      }),
    )
}

const afterSecrets =
  'the export has no secrets: reset passwords (consentctl admin user password), make new API keys (consentctl keys create), rotate the tokens of sites (consentctl sites rotate-token), and configure the signing key or begin a new chain (consentctl admin signing-key restart). Legal holds find nobody until they are added again (consentctl hold add)'

/** An unreadable file must not create a database. */
async function readFirst({ interruption }: Context, chunks: AsyncGenerator<Buffer>): Promise<AsyncGenerator<Buffer>> {
  const first = await chunks.next()
  return (async function* () {
    if (!first.done) yield first.value
    try {
      yield* chunks
    } catch (error) {
      interruption.throwIfAborted() // it may have ended the stream
      throw error
    }
  })()
}
