import type { Command } from 'commander'
import * as z from 'zod'
import type { Context } from '../../context.ts'
import { maskKey, type Sourced } from '../../settings.ts'
import { settingView } from '../../views/setting.ts'
import { action, formatOf } from '../action.ts'
import { many, pagesOf } from '../output.ts'

/** `config list`: every setting with its source; a key by its last characters. */
export function list(command: Command, ctx: Context): void {
  command
    .addHelpText(
      'after',
      `
A flag goes before a variable of the environment, that before the profile, that before the default.

Examples:
  $ consentctl config list
  $ consentctl config list -p staging -o json`,
    )
    .action(
      action(ctx, z.strictObject({}), async () => {
        const { settings, globals } = ctx
        const key = settings.apiKey && { ...settings.apiKey, value: maskKey(settings.apiKey.value) }
        const rows = [
          row('config_folder', { value: settings.folder, source: folderSource(ctx) }),
          row('profile', settings.profile),
          row('base_url', settings.baseUrl),
          row('site', settings.site),
          row('email', settings.email),
          row('api_key', key),
          row('output', {
            value: formatOf(ctx),
            source: globals.output || globals.json ? 'flag' : 'default',
          }),
        ]
        return many(settingView, pagesOf(rows))
      }),
    )
}

function row(setting: string, value: Sourced | null) {
  return { setting, value: value?.value ?? null, source: value?.source ?? 'not set' }
}

function folderSource({ host: { env } }: Context): string {
  if (env['CONSENTCTL_CONFIG_DIR']) return 'CONSENTCTL_CONFIG_DIR'
  return env['XDG_CONFIG_HOME'] ? 'XDG_CONFIG_HOME' : 'default'
}
