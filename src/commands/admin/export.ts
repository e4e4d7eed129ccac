import type { Command } from 'commander'
import * as z from 'zod'
import { action, nonEmpty } from '../../cli/action.ts'
import { addDatabaseFlags, databaseOptions, serverHost } from '../../cli/database.ts'
import type { Context } from '../../context.ts'
import type { Transferred } from '../../contract/server.ts'
import { CliError, exit, usageError } from '../../errors/errors.ts'
import { formatTransferred } from './transferred.ts'

const Options = z.strictObject({
  ...databaseOptions,
  operands: z.array(nonEmpty).length(1),
  force: z.literal(true).optional(),
  withoutSecrets: z.literal(true).optional(),
})

type Write = (text: string) => Promise<void>

export function exportCommand(command: Command, ctx: Context): void {
  addDatabaseFlags(
    command
      .argument('<file>', 'a new file; - is standard output')
      .option('--without-secrets', 'leave out hashes of keys, tokens and passwords, and the secrets of the service')
      .option('--force', 'print the export even if standard output is a terminal'),
  )
    .description(`
The file contains every table as of one moment, and all secrets of the service: password hashes, hashes of API keys,
keys that sign sessions and documents. Only its owner can read it; protect it like the database: records are readable
in it. "admin import" loads it into another database: the embedded one, or PostgreSQL of any version.

On PostgreSQL it runs beside the server, in one read-only transaction (repeatable read). Later writes are not in
the file, so stop the server first if you are moving the service, and always on a Citus cluster. The embedded
database cannot be used meanwhile.

With --without-secrets nobody can sign in, call the API, or sign with the file. It still has all records, histories
and settings. Where it is imported, users need new passwords, callers new API keys, and sites new tokens; sessions,
cursors and visitors' tokens end, and pseudonyms of subjects change: legal holds find nobody until they are added
again, and no identifier finds its sealed proofs. The log of signing keys begins anew if the key was in the database.
The administrators' log keeps its SHA-256 digests of keys, which nobody can invert.

Examples:
  $ consentctl admin export consents.ndjson
  $ consentctl admin export copy.ndjson --without-secrets
  $ consentctl admin export - --data-dir /var/lib/consentctl | gzip > consents.ndjson.gz`)
    .action(
      action(ctx, Options, async (_, { operands: [file = ''], force, withoutSecrets, ...options }) => {
        const run = async (write: Write) => {
          const { exportDatabase } = await ctx.loadServer()
          return await exportDatabase(options, { write, withoutSecrets, signal: ctx.interruption }, serverHost(ctx))
        }
        if (file === '-') await toOutput(ctx, force ?? false, run)
        else await toFile(ctx, file, run)
      }),
    )
}

async function toFile(ctx: Context, path: string, run: (write: Write) => Promise<Transferred>): Promise<void> {
  const { openOutFile } = await import('../../io/new-file.ts')
  const file = await openOutFile(path, 'export')
  try {
    const done = await run(text => file.write(text))
    await file.commit()
    await ctx.say(`exported ${formatTransferred(done)} to ${path}`)
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
    throw usageError('an export contains secrets and is not printed on a terminal', 'name a file, or add --force')
  const done = await run(async text => {
    await out.write(text)
    if (out.closed) throw new CliError('io', exit.failure, 'the reader of the export closed it before its end')
  })
  await say(`exported ${formatTransferred(done)}`)
}
