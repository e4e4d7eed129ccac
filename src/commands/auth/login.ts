import { hostname } from 'node:os'
import type { Command } from 'commander'
import * as z from 'zod'
import { action, nonEmpty } from '../../cli/action.ts'
import { instanceLabel } from '../../cli/messages.ts'
import { addScopeFlag, signIn, signInOptions } from '../../cli/sign-in.ts'
import { knownSiteId } from '../../cli/sites.ts'
import type { Client } from '../../client/client.ts'
import type { Context } from '../../context.ts'
import { KeyDraft, keys } from '../../contract/keys.ts'
import { usageError } from '../../errors/errors.ts'
import { explain } from '../../errors/explain.ts'
import { readText } from '../../io/input.ts'
import { canPrompt, promptHidden } from '../../io/prompt.ts'
import { isKey, maskKey } from '../../settings/key.ts'
import { checkProfileName, requireBaseUrl } from '../../settings/settings.ts'
import { type Profile, saveProfile } from '../../settings/store.ts'

async function storeNewKey(ctx: Context, api: Client, draft: KeyDraft, profile: Profile): Promise<void> {
  const before = ctx.settings.apiKey
  const key = await api.call(keys.create, { body: draft })
  await ctx.say(`created key ${key.id} (${draft.name}) on ${instanceLabel(ctx)}`)
  try {
    await store(ctx, profile, key.key)
  } catch (error) {
    await revokeLostKey(ctx, api, key.id)
    throw error
  }
  if (before?.atHand && before.source.includes('credentials.json'))
    await ctx.say(
      `note: the previous key ${maskKey(before.atHand)} stays valid until you revoke it: consentctl keys list`,
    )
}

/** Such as `consentctl@HOSTNAME 2026-01-31T09:30:00Z`. */
function newKeyName(): string {
  return `consentctl@${hostname().slice(0, 60)} ${new Date().toISOString().slice(0, 19)}Z`
}

async function revokeLostKey(ctx: Context, api: Client, id: string): Promise<void> {
  try {
    await api.call(keys.revoke, { params: { id } })
    await ctx.warn(`revoked key ${id}, because it could not be stored`)
  } catch {
    await ctx.warn(`key ${id} could not be stored or revoked; try: consentctl keys revoke ${id}`)
  }
}

const Options = z.strictObject({
  ...signInOptions,
  withKey: z.literal(true).optional(),
  site: nonEmpty.optional(),
  keyName: KeyDraft.shape.name.optional(),
  scope: KeyDraft.shape.scopes,
})

export function login(command: Command, ctx: Context): void {
  addScopeFlag(
    command
      .option('--with-key', 'read the key from standard input instead of prompting')
      .option('--email <address>', 'sign in and create a key instead of prompting for one')
      .option('--password-stdin', 'read the password from standard input instead of prompting')
      .option('--site <site>', 'default site of new records, by its name or id')
      .option('--key-name <name>', 'name of the new key (consentctl@HOSTNAME and the time)'),
  )
    .description(`
The key is read from a prompt or standard input, never from the command line, where others could see
it. It is checked with one request and stored in credentials.json, for this address only.

With --email you need no key: you sign in, and a key is created for this machine. The password and the
session are not stored; the email is, for the commands that sign in.

Examples:
  $ consentctl auth login --base-url https://consent.example.com
  $ consentctl auth login --base-url https://consent.example.com --email privacy@example.com
  $ consentctl auth login --with-key -p staging --base-url https://staging.example.com < key.txt`)
    .action(action(ctx, Options, run))
}

async function run(ctx: Context, { withKey, site, keyName, scope, ...who }: z.output<typeof Options>) {
  const isSigningIn = Boolean(who.email ?? who.passwordStdin)
  if (isSigningIn && withKey) throw usageError('--with-key cannot be combined with --email or --password-stdin')
  if (!isSigningIn && (keyName ?? scope)) throw usageError('--key-name and --scope require --email')
  checkProfileName(ctx.settings.profile.value)
  const findSite = async (api: Client) => (site === undefined ? {} : { site: await knownSiteId(ctx, api, site) })
  if (isSigningIn) {
    const api = await signIn(ctx, who)
    const profile = { ...(await findSite(api)), email: who.email ?? ctx.settings.email?.value }
    await storeNewKey(ctx, api, { name: keyName ?? newKeyName(), scopes: scope }, profile)
  } else {
    const { value, api } = await readKey(ctx, withKey)
    await store(ctx, await findSite(api), value)
  }
  const first = ctx.settings.apiKey?.source ?? ''
  if (/CONSENTCTL_|key_command/.test(first)) await ctx.say(`note: ${first} is set and takes precedence`)
  if (!site && !ctx.settings.site)
    await ctx.say('note: no default site is set (auth login --site), so create requires --site')
}

async function store(ctx: Context, profile: Profile, apiKey: string): Promise<void> {
  const { folder, profile: name } = ctx.settings
  const base_url = requireBaseUrl(ctx.settings)
  await saveProfile(folder, name.value, { ...profile, base_url }, apiKey)
  await ctx.say(`stored ${maskKey(apiKey)} for ${base_url} in profile ${name.value} (${folder})`)
}

/** @throws ApiError unless the instance accepts the key, with any scope */
async function readKey(ctx: Context, withKey: true | undefined): Promise<{ value: string; api: Client }> {
  requireBaseUrl(ctx.settings) // before the prompt
  if (withKey && ctx.io.stdin.isTTY) throw usageError('standard input is a terminal', 'remove --with-key')
  const value = withKey ? (await readText(ctx.io, '-')).trim() : await askForKey(ctx)
  if (!isKey(value)) throw usageError('not an API key', 'keys begin with sk-')
  const api = ctx.apiWith({ value, source: withKey ? 'standard input' : 'the prompt' })
  await api.consents.list({ query: { limit: 1 } }).catch(async (error: unknown) => {
    if (explain(error).reason !== 'missing_scope') throw error
    await ctx.say('note: the key has no scope read: commands that read records will fail with it')
  })
  return { value, api }
}

async function askForKey(ctx: Context): Promise<string> {
  if (!canPrompt(ctx.io))
    throw usageError('cannot prompt for the key: stdin and stderr must be a terminal', 'use --with-key')
  return (await promptHidden(ctx.io, 'API key (not shown): ')).trim()
}
