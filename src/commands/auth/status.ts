import type { Command } from 'commander'
import * as z from 'zod'
import { action } from '../../cli/action.ts'
import { many, pagesOf } from '../../cli/output.ts'
import { isCallError } from '../../client/errors.ts'
import type { Context } from '../../context.ts'
import { caller } from '../../contract/caller.ts'
import { maskKey } from '../../settings/key.ts'
import { requireApiKey, requireBaseUrl } from '../../settings/settings.ts'
import { settingView } from '../../views/program.ts'

/** None for a key without restriction, or if the instance does not say. */
async function readSites({ api }: Context): Promise<readonly string[]> {
  try {
    return (await api.call(caller.get, {})).site_ids ?? []
  } catch (error) {
    if (isCallError(error)) return []
    throw error
  }
}

export function status(command: Command, ctx: Context): void {
  command
    .description(`
The key is checked with a request. Exit code 4 if it is rejected. A key that is restricted to sites has a row
for each.

Examples:
  $ consentctl auth status
  $ consentctl auth status -p staging -o json`)
    .action(
      action(ctx, z.strictObject({}), settingView, async () => {
        const { profile, baseUrl } = ctx.settings
        const instance = requireBaseUrl(ctx.settings)
        const { value: key, source } = await requireApiKey(ctx.settings).read()
        await ctx.api.consents.list({ query: { limit: 1 } })
        const rows = [
          { setting: 'profile', ...profile },
          { setting: 'base_url', value: instance, source: baseUrl?.source ?? '' },
          { setting: 'api_key', value: maskKey(key), source },
          { setting: 'valid', value: 'yes', source: 'the instance' },
          ...(await readSites(ctx)).map(value => ({ setting: 'site', value, source: 'the instance' })),
        ]
        return many(settingView, pagesOf(rows))
      }),
    )
}
