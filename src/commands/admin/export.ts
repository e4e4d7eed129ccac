import type { Command } from 'commander'
import * as z from 'zod'
import { action, nonEmpty } from '../../cli/action.ts'
import { addDatabaseFlags, databaseOptions, serverHost } from '../../cli/database.ts'
import { formatCount } from '../../cli/messages.ts'
import type { Context } from '../../context.ts'
import type { Transferred } from '../../contract/server.ts'
import { CliError, exit, usageError } from '../../errors/errors.ts'

const Options = z.strictObject({
  ...databaseOptions,
  operands: z.array(nonEmpty).length(1),
  force: z.literal(true).optional(),
})

type Write = (text: string) => Promise<void>

/** `admin export`: a whole database as one file, for another place. */
export function exportDatabase(command: Command, ctx: Context): void {
  addDatabaseFlags(
    command
      .argument('<file>', 'a new file; - is standard output')
      .option('--force', 'print it on a terminal all the same'),
  )
    .addHelpText(
      'after',
      `
The file holds every table as it is at one moment, and whatever the service keeps secret: password hashes, the
hashes of keys, what sessions and documents are signed with. Only its owner can read it; keep it as safe as the
database. "admin import" makes another database of it: the embedded one, or one of any version of PostgreSQL.

It works beside a running server: on PostgreSQL one read-only transaction (repeatable read) sees every table as
it was when it began. What is written afterwards is not in the file, so stop the server first where the service
is to move, and on a Citus cluster always. The embedded database serves nobody else meanwhile.

Examples:
  $ consentctl admin export consents.ndjson
  $ consentctl admin export - --data-dir /var/lib/consentctl | gzip > consents.ndjson.gz`,
    )
    .action(
      action(ctx, Options, async (_, { operands: [file = ''], force, ...options }) => {
        const run = async (write: Write) => {
          const { exportDatabase } = await ctx.loadServer()
          return await exportDatabase(options, { write, signal: ctx.interruption }, serverHost(ctx))
        }
        if (file === '-') await toOutput(ctx, force ?? false, run)
        else await toFile(ctx, file, run)
      }),
    )
}

async function toFile(
  ctx: Context,
  path: string,
  run: (write: Write) => Promise<Transferred>,
): Promise<void> {
  const { openOutFile } = await import('../../io/new-file.ts')
  const file = await openOutFile(path, 'export')
  try {
    const done = await run(text => file.write(text))
    await file.commit()
    await ctx.say(`exported ${extent(done)} to ${path}`)
  } catch (error) {
    await file.abandon(false)
    throw error
  }
}

async function toOutput(
  { io: { out }, say }: Context,
  force: boolean,
  run: (write: Write) => Promise<Transferred>,
): Promise<void> {
  if (out.isTerminal && !force)
    throw usageError(
      'an export is full of secrets, and would be on this terminal',
      'name a file, or add --force',
    )
  const done = await run(async text => {
    await out.write(text)
    if (out.closed) throw new CliError('io', exit.failure, 'whoever reads the export has gone before its end')
  })
  await say(`exported ${extent(done)}`)
}

/** How much was moved, for people. */
export function extent({ records, rows }: Transferred): string {
  return `${formatCount(records)}, ${rows} ${rows === 1 ? 'row' : 'rows'} in all`
}
