import type { Command } from 'commander'
import * as z from 'zod'
import type { Context } from '../../context.ts'
import { usageError } from '../../errors.ts'
import { readText } from '../../io/input.ts'
import { askHidden, canAsk } from '../../io/prompt.ts'
import { maskKey, requireBaseUrl } from '../../settings.ts'
import { saveProfile } from '../../store.ts'
import { action, given } from '../action.ts'

const Options = z.strictObject({ withKey: z.literal(true).optional(), site: given.optional() })

/** `auth login`: stores a key that the instance accepts, with the address it is for. */
export function login(command: Command, ctx: Context): void {
  command
    .option('--with-key', 'read the key from standard input instead of asking for it')
    .option('--site <id>', 'the site that new records belong to when none is named')
    .addHelpText(
      'after',
      `
A key is never given on the command line, where others could see it. It is checked with one request
before it is stored, in credentials.json, for this address alone.

Examples:
  $ consentctl auth login --base-url https://consent.example.com
  $ consentctl auth login --with-key -p staging --base-url https://staging.example.com < key.txt`,
    )
    .action(
      action(ctx, Options, async (_, { withKey, site }) => {
        const { folder, profile, ...settings } = ctx.settings
        const baseUrl = requireBaseUrl(ctx.settings)
        const apiKey = withKey ? (await readText(ctx.io, '-')).trim() : await askForKey(ctx)
        if (!/^sk-\S+$/.test(apiKey)) throw usageError('that is no API key', 'keys begin with sk-')
        await check(ctx, apiKey, withKey ? 'standard input' : 'the prompt')
        await saveProfile(folder, profile.value, { base_url: baseUrl, ...(site && { site }) }, apiKey)
        await ctx.say(`stored ${maskKey(apiKey)} for ${baseUrl} in profile ${profile.value} (${folder})`)
        if (settings.apiKey?.source === 'CONSENTCTL_API_KEY')
          await ctx.say('note: CONSENTCTL_API_KEY is set, and goes first')
        if (!site) await ctx.say('note: without a site (auth login --site) every create needs --site')
        return undefined
      }),
    )
}

async function askForKey(ctx: Context): Promise<string> {
  if (!canAsk(ctx.io))
    throw usageError('nobody can be asked for the key here', 'pipe it in: consentctl auth login --with-key')
  return (await askHidden(ctx.io, 'API key (not shown): ')).trim()
}

/** Throws what the instance says of the key. */
async function check(ctx: Context, apiKey: string, source: string): Promise<void> {
  const api = ctx.apiWith(apiKey, source)
  try {
    await api.consents.list({ query: { limit: 1 } })
  } finally {
    await api.close()
  }
}
