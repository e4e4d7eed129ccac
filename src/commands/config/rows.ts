import { chooseFormat } from '../../cli/action.ts'
import type { Context } from '../../context.ts'
import { configFolder, type Sourced, stateFolder } from '../../settings/folders.ts'
import { maskKey } from '../../settings/key.ts'
import { readConfiguration, sourced } from '../../settings/settings.ts'
import { own } from '../../settings/store.ts'
import type { SettingRow } from '../../views/program.ts'

export function settingRows(ctx: Context): SettingRow[] {
  const { settings, globals, host } = ctx
  const { config, profile } = readConfiguration(globals, host)
  const { isProtected, allowHttp, apiKey } = settings
  const stored = own(config.profiles, profile.value)
  const from = `profile ${profile.value}`
  const hosts = allowHttp.filter(name => name !== '').join(',')
  const variable = (name: string) => sourced(host.env[name], name)
  const key = apiKey && { value: apiKey.atHand && maskKey(apiKey.atHand), source: apiKey.source }
  const asked = globals.output || globals.json || globals.quiet
  return [
    row('config_folder', configFolder(host.env, host.platform)),
    row('state_folder', stateFolderOf(ctx)),
    row('profile', profile),
    row('base_url', settings.baseUrl),
    row('site', settings.site),
    row('email', settings.email),
    row('protected', {
      value: String(isProtected),
      source: stored?.protected !== undefined ? from : isProtected ? 'another profile' : 'default',
    }),
    row('api_key', key),
    row('key_command', stored?.key_command ? { value: stored.key_command, source: from } : null),
    row('ca_file', settings.caFile),
    row('timeout', sourced(globals.timeout, '--timeout') ?? variable('CONSENTCTL_TIMEOUT')),
    row(
      'max_wait',
      sourced(globals.maxWait, '--max-wait') ?? variable('CONSENTCTL_MAX_WAIT') ?? { value: '60', source: 'default' },
    ),
    row('allow_http', hosts ? { value: hosts, source: 'CONSENTCTL_ALLOW_HTTP' } : null),
    row('error_format', variable('CONSENTCTL_ERROR_FORMAT')),
    row('output', { value: chooseFormat(ctx), source: asked ? 'flag' : 'default' }),
  ]
}

function row(setting: string, found: Sourced | { value: string | null; source: string } | null): SettingRow {
  return { setting, value: found?.value ?? null, source: found?.source ?? 'not set' }
}

function stateFolderOf({ host: { env, platform } }: Context): Sourced | null {
  try {
    return stateFolder(env, platform)
  } catch {
    return null
  }
}
