import type { Command } from 'commander'
import * as z from 'zod'
import type { Context } from '../context.ts'
import type { RunningServer } from '../contract/server.ts'
import { saveProfile } from '../store.ts'
import { action } from './action.ts'
import { databaseFlags, databaseOptions, serverHost } from './server-options.ts'

const Options = z.strictObject({
  ...databaseOptions,
  host: z.string().min(1).optional(),
  port: z
    .string()
    .regex(/^\d{1,5}$/, 'must be a port number')
    .transform(Number)
    .optional(),
  quickstart: z.literal(true).optional(),
})

/** The profile that a first start leaves behind. */
const localProfile = 'local'

/** `serve`: the service, until it is told to stop. */
export function serve(command: Command, ctx: Context): void {
  databaseFlags(
    command
      .option('--host <address>', 'the address to listen on (HOST; 127.0.0.1)')
      .option('--port <port>', 'the port to listen on (PORT; 8787)'),
  )
    .option('--quickstart', 'on an empty database, make an account and store its key in the profile "local"')
    .addHelpText(
      'after',
      `
Without a database URL the records are kept by an embedded PostgreSQL in the data folder.
Log lines go to standard error as JSON. SIGTERM and SIGINT stop it when its requests are answered.

Examples:
  $ consentctl serve --quickstart
  $ DATABASE_URL=postgres://consent@db.example.com/consent consentctl serve --host 0.0.0.0`,
    )
    .action(
      action(ctx, Options, async (_, { quickstart, ...options }) => {
        const stopped = new Promise<void>(resolve => {
          // Listening on, for conf's way of writing files answers a signal by sending it once more.
          ctx.host.on('SIGINT', resolve)
          ctx.host.on('SIGTERM', resolve)
        })
        const { serve } = await ctx.loadServer()
        const server = await serve(options, serverHost(ctx))
        await ctx.io.out.write(`consentctl is serving on ${server.url}\n`)
        if (quickstart) await welcome(ctx, server)
        await stopped
        await server.close()
        return undefined
      }),
    )
}

/** On the very first start: an account, its secrets this once, a profile, and what to try next. */
async function welcome(ctx: Context, server: RunningServer): Promise<void> {
  const { folder } = ctx.settings
  if (!server.isEmpty) return await ctx.io.out.write('Try: npx consentctl list\n')
  const account = await server.createAccount({ email: 'owner@localhost', site: 'My first site' })
  await saveProfile(folder, localProfile, { base_url: server.url, site: account.site.id }, account.api_key)
  await ctx.io.out.write(`
This is the first start, so there is an account for you now. Its secrets are shown this once:

  e-mail      ${account.user.email}
  password    ${account.user.password}
  site        ${account.site.id} (${account.site.name})
  site token  ${account.site.token}
  API key     ${account.api_key}

The key is stored in the profile "${localProfile}" (${folder}). In another terminal, try:

  npx consentctl create --subject maria@example.com --accepted --pref marketing=true
  npx consentctl list
  npx consentctl --help

`)
}
