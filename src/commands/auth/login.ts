import type { Command } from 'commander'
import * as z from 'zod'
import type { Context } from '../../context.ts'
import { KeyDraft } from '../../contract/keys.ts'
import { usageError } from '../../errors/errors.ts'
import { readText } from '../../io/input.ts'
import { askHidden, canAsk } from '../../io/prompt.ts'
import { isKey, maskKey } from '../../settings/key.ts'
import { checkProfileName } from '../../settings/place.ts'
import { requireBaseUrl } from '../../settings/settings.ts'
import type { Profile } from '../../settings/store.ts'
import { saveProfile } from '../../settings/store-write.ts'
import { action, given } from '../action.ts'
import { scopeFlag } from '../keys/scopes.ts'
import { signInOptions } from '../sign-in.ts'
import { makeOwnKey } from './own-key.ts'

const Options = z.strictObject({
  ...signInOptions,
  withKey: z.literal(true).optional(),
  site: given.optional(),
  keyName: KeyDraft.shape.name.optional(),
  scope: KeyDraft.shape.scopes,
})

/** `auth login`: stores a key that the instance accepts, with the address it is for. */
export function login(command: Command, ctx: Context): void {
  scopeFlag(
    command
      .option('--with-key', 'read the key from standard input instead of asking for it')
      .option('--email <address>', 'sign in and make a new key, instead of asking for one')
      .option('--password-stdin', 'read the password from standard input instead of asking for it')
      .option('--site <id>', 'the site that new records belong to when none is named')
      .option('--key-name <name>', 'what the new key is called (consentctl@ and the name of this machine)'),
  )
    .addHelpText(
      'after',
      `
A key is never given on the command line, where others could see it. It is checked with one request
before it is stored, in credentials.json, for this address alone.

With --email you need no key: you sign in, and a new one is made for this machine. The password and the
session are not stored; the e-mail is, for the commands that sign in.

Examples:
  $ consentctl auth login --base-url https://consent.example.com
  $ consentctl auth login --base-url https://consent.example.com --email privacy@example.com
  $ consentctl auth login --with-key -p staging --base-url https://staging.example.com < key.txt`,
    )
    .action(
      action(ctx, Options, async (_, { withKey, site, keyName, scope, ...who }) => {
        const isSigningIn = Boolean(who.email ?? who.passwordStdin)
        if (isSigningIn && withKey) throw usageError('--with-key excludes --email and --password-stdin')
        if (!isSigningIn && (keyName ?? scope)) throw usageError('--key-name and --scope need --email')
        checkProfileName(ctx.settings.profile.value)
        const stores = (apiKey: string, more: Profile = {}) =>
          store(ctx, { ...(site && { site }), ...more }, apiKey)
        if (isSigningIn) await makeOwnKey(ctx, { ...who, keyName, scope }, stores)
        else await stores(await readKey(ctx, withKey))
        const first = ctx.settings.apiKey?.source ?? ''
        if (/CONSENTCTL_|key_command/.test(first)) await ctx.say(`note: ${first} is set, and goes first`)
        if (!site && !ctx.settings.site)
          await ctx.say('note: without a site (auth login --site) every create needs --site')
        return undefined
      }),
    )
}

async function store(ctx: Context, profile: Profile, apiKey: string): Promise<void> {
  const { folder, profile: name } = ctx.settings
  const base_url = requireBaseUrl(ctx.settings)
  await saveProfile(folder, name.value, { ...profile, base_url }, apiKey)
  await ctx.say(`stored ${maskKey(apiKey)} for ${base_url} in profile ${name.value} (${folder})`)
}

/** A key from standard input or the prompt. Throws what the instance says of it, unless it accepts it. */
async function readKey(ctx: Context, withKey: true | undefined): Promise<string> {
  requireBaseUrl(ctx.settings) // what is wrong with the instance shows before a key is asked for
  if (withKey && ctx.io.stdin.isTTY) throw usageError('standard input is a terminal', 'leave --with-key out')
  const value = withKey ? (await readText(ctx.io, '-')).trim() : await askForKey(ctx)
  if (!isKey(value)) throw usageError('that is no API key', 'keys begin with sk-')
  const api = ctx.apiWith({ value, source: withKey ? 'standard input' : 'the prompt' })
  await api.consents.list({ query: { limit: 1 } })
  return value
}

async function askForKey(ctx: Context): Promise<string> {
  if (!canAsk(ctx.io))
    throw usageError('nobody can be asked for the key here', 'pipe it in: consentctl auth login --with-key')
  return (await askHidden(ctx.io, 'API key (not shown): ')).trim()
}
