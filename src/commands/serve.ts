import { existsSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Command } from 'commander'
import * as z from 'zod'
import { action } from '../cli/action.ts'
import { addDatabaseFlags, databaseOptions, serverHost } from '../cli/database.ts'
import { quoteForShell } from '../cli/messages.ts'
import type { Context } from '../context.ts'
import type { RunningServer } from '../contract/server.ts'
import { resolveSettings } from '../settings/settings.ts'
import { freeProfile, profileFor, saveProfile } from '../settings/store.ts'

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

export function serve(command: Command, ctx: Context): void {
  addDatabaseFlags(
    command
      .option('--host <address>', 'address to listen on (HOST; 127.0.0.1)')
      .option('--port <port>', 'port to listen on (PORT; 8787)'),
  )
    .option('--quickstart', 'on an empty database, create an account and store its key in profile "local"')
    .description(`
Without a database URL, an embedded PostgreSQL keeps the records in the data folder.
Logs go to standard error as JSON. SIGTERM and SIGINT stop the server after running requests.

Examples:
  $ consentctl serve --quickstart
  $ DATABASE_URL=postgres://consent@db.example.com/consent consentctl serve --host 0.0.0.0`)
    .action(action(ctx, Options, run))
}

async function run(ctx: Context, { quickstart, ...options }: z.output<typeof Options>) {
  const folder = quickstart && ctx.settings.folder // before anything is created
  const stop = stopSignal(ctx)
  const { serve } = await ctx.loadServer()
  const onEmbedded = (what: string) => void ctx.io.out.write(`opening ${what}\n`).catch(() => {})
  const { signal } = stop
  const server = await serve(options, { ...serverHost(ctx), onEmbedded, signal, holdsLog: quickstart === true }).catch(
    error => {
      if (error !== signal.reason) throw error
    },
  )
  if (!server) return
  try {
    const hints = folder && !signal.aborted ? await welcome(ctx, server, folder) : ''
    const serving = signal.aborted ? '' : `consentctl is serving on ${server.url}\n`
    await Promise.race([ctx.io.out.write(serving + hints), stop.asked]) // stdout may never be read
    server.showLog()
    await stop.asked
    stop.onInsistence(() => server.abortRequests())
  } finally {
    await server.close()
  }
}

/** The first SIGINT or SIGTERM stops the server or its start; the next aborts its requests. */
function stopSignal({ host }: Context) {
  const controller = new AbortController()
  let askedAt: number | undefined
  let insist = () => {}
  const asked = new Promise<void>(resolve => {
    const onSignal = () => {
      // conf's file writer raises a signal again immediately.
      if (askedAt !== undefined && Date.now() - askedAt > 500) insist()
      askedAt ??= Date.now()
      controller.abort()
      resolve()
    }
    host.on('SIGINT', onSignal)
    host.on('SIGTERM', onSignal)
  })
  return {
    asked,
    signal: controller.signal,
    onInsistence: (action: () => void) => {
      insist = action
    },
  }
}

async function welcome(ctx: Context, server: RunningServer, folder: string): Promise<string> {
  const { out } = ctx.io
  if (!server.isEmpty) {
    const profile = profileFor(folder, server.url)
    if (profile) return `In another terminal, try:\n\n  ${folderVariable(ctx)}${commandFor(ctx, profile, 'list')}\n\n`
    return `\
No profile has this address. In another terminal, make a key with the e-mail and the password of the first start:

  ${folderVariable(ctx)}${programName(ctx)} auth login -p ${freeProfile(folder, 'local')} --base-url ${server.url} --email owner@localhost

If the password is lost: ${programName(ctx)} admin user password --email owner@localhost

`
  }
  // Without stdout, no account is created.
  await out.write('\nThis is the first start: creating an account. Its secrets are shown only once:\n\n')
  const account = await server.createAccount({ email: 'owner@localhost', site: 'My first site' })
  // Printed first: only hashes of the secrets are stored.
  await out.write(`\
  email       ${account.user.email}
  password    ${account.user.password}
  site        ${account.site.id} (${account.site.name})
  site token  ${account.site.token}
  API key     ${account.api_key}

`)
  const profile = freeProfile(folder, 'local')
  const { site, user, api_key } = account
  await saveProfile(folder, profile, { base_url: server.url, site: site.id, email: user.email }, api_key)
  return `
The key is stored in the profile "${profile}":
  ${folder}
In another terminal, try:

  ${folderVariable(ctx)}${commandFor(ctx, profile, 'create --subject maria@example.com --accepted')}
  ${commandFor(ctx, profile, 'list')}
  ${programName(ctx)} --help

`
}

function commandFor(ctx: Context, profile: string, command: string): string {
  const { host, globals } = ctx
  const settings = resolveSettings(globals, { env: host.env, platform: host.platform, warn: () => {} })
  const isDefault = settings.profile.value === profile && settings.profile.source === 'config.json'
  return `${programName(ctx)} ${isDefault ? '' : `-p ${profile} `}${command}`
}

/** In a clone, the program is not on the PATH. */
function programName({ host: { argv } }: Context): string {
  try {
    return existsSync(join(dirname(realpathSync(argv[1] ?? '')), 'build.js')) ? 'npx consentctl' : 'consentctl'
  } catch {
    return 'consentctl'
  }
}

function folderVariable({ host: { env } }: Context): string {
  const folder = env['CONSENTCTL_CONFIG_DIR']
  return folder ? `export CONSENTCTL_CONFIG_DIR=${quoteForShell(folder)}\n  ` : ''
}
