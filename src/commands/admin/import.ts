import type { Command } from 'commander'
import * as z from 'zod'
import { action, nonEmpty } from '../../cli/action.ts'
import { addDatabaseFlags, databaseOptions, serverHost } from '../../cli/database.ts'
import type { Context } from '../../context.ts'
import { nameOf, readChunks } from '../../io/input.ts'
import { extent } from './export.ts'

const Options = z.strictObject({ ...databaseOptions, operands: z.array(nonEmpty).length(1) })

/** `admin import`: an empty database becomes what another one was. */
export function importDatabase(command: Command, ctx: Context): void {
  addDatabaseFlags(command.argument('<file>', 'what admin export has written; - is standard input'))
    .addHelpText(
      'after',
      `
The database must be empty: one that no server was ever started on. It has all of the export in the end, in the
numbers and with the SHA-256 that the export names, or nothing: a file that was cut off or changed is refused,
and so is one of another schema; the command then ends with 5. Afterwards "admin verify" proves the histories.

Start the servers on the new database with the settings they had: keys, passwords and sessions go on to work.

Examples:
  $ consentctl admin import consents.ndjson --data-dir /var/lib/consentctl
  $ gunzip -c consents.ndjson.gz | consentctl admin import -`,
    )
    .action(
      action(ctx, Options, async (_, { operands: [file = ''], ...options }) => {
        const source = await begun(ctx, readChunks(ctx.io, file, ctx.interruption))
        const { importDatabase } = await ctx.loadServer()
        const order = { source, name: nameOf(file), signal: ctx.interruption }
        const done = await importDatabase(options, order, serverHost(ctx))
        await ctx.say(`imported ${extent(done)}; consentctl admin verify proves the histories`)
      }),
    )
}

/** The same bytes, once the first of them are there: a file that cannot be read makes no database. */
async function begun(
  { interruption }: Context,
  chunks: AsyncGenerator<Buffer>,
): Promise<AsyncGenerator<Buffer>> {
  const first = await chunks.next()
  return (async function* () {
    if (!first.done) yield first.value
    try {
      yield* chunks
    } catch (error) {
      interruption.throwIfAborted() // it is why the stream has ended
      throw error
    }
  })()
}
