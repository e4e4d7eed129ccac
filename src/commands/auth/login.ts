import { hostname } from 'node:os'
import type { Command } from 'commander'
import * as z from 'zod'
import { action, nonEmpty } from '../../cli/action.ts'
import { instanceLabel } from '../../cli/messages.ts'
import { addScopeFlag, type SignInOptions, signIn, signInOptions } from '../../cli/sign-in.ts'
import type { Client } from '../../client/client.ts'
import type { Context } from '../../context.ts'
import { KeyDraft, keys } from '../../contract/keys.ts'
import { usageError } from '../../errors/errors.ts'
import { readText } from '../../io/input.ts'
import { canPrompt, promptHidden } from '../../io/prompt.ts'
import { isKey, maskKey } from '../../settings/key.ts'
import { checkProfileName, requireBaseUrl } from '../../settings/settings.ts'
import { type Profile, saveProfile } from '../../settings/store.ts'

interface OwnKeyOptions extends SignInOptions {
  readonly keyName: string | undefined
  readonly scope: KeyDraft['scopes']
}

/** Signs in, makes a key for this machine and hands it to `store`; where that fails, the key is revoked again. */
async function makeOwnKey(
  ctx: Context,
  { keyName, scope, ...who }: OwnKeyOptions,
  store: (apiKey: string, profile: Profile) => Promise<void>,
): Promise<void> {
  const before = ctx.settings.apiKey
  const email = who.email ?? ctx.settings.email?.value
  const name = keyName ?? `consentctl@${hostname()}`.slice(0, 100)
  const api = await signIn(ctx, who)
  const key = await api.call(keys.create, { body: { name, scopes: scope } })
  await ctx.say(`created key ${key.id} (${name}) on ${instanceLabel(ctx)}`)
  try {
    await store(key.key, { email })
  } catch (error) {
    await takeBack(ctx, api, key.id)
    throw error
  }
  if (before?.atHand && before.source.includes('credentials.json'))
    await ctx.say(
      `note: the key that was stored before, ${maskKey(before.atHand)}, is valid until you revoke it: consentctl keys list`,
    )
}

/** Revokes a key that could not be stored, for nobody has its text; where that fails too, its id is told. */
async function takeBack(ctx: Context, api: Client, id: string): Promise<void> {
  try {
    await api.call(keys.revoke, { params: { id } })
    await ctx.warn(`key ${id} is revoked again, for it could not be stored`)
  } catch {
    await ctx.warn(`key ${id} could be neither stored nor revoked; try: consentctl keys revoke ${id}`)
  }
}

const Options = z.strictObject({
  ...signInOptions,
  withKey: z.literal(true).optional(),
  site: nonEmpty.optional(),
  keyName: KeyDraft.shape.name.optional(),
  scope: KeyDraft.shape.scopes,
})

/** `auth login`: stores a key that the instance accepts, with the address it is for. */
export function login(command: Command, ctx: Context): void {
  addScopeFlag(
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
  if (!canPrompt(ctx.io))
    throw usageError('cannot prompt for the key: stdin and stderr must be a terminal', 'use --with-key')
  return (await promptHidden(ctx.io, 'API key (not shown): ')).trim()
}
