import { posix, win32 } from 'node:path'
import { settingsError } from '../errors/errors.ts'

export type Env = Readonly<Record<string, string | undefined>>

/** A value and its flag, variable, profile or default. */
export interface Sourced {
  readonly value: string
  readonly source: string
}

/** Null without a home folder. macOS uses the Linux folder. */
export function configFolder(env: Env, platform: string): Sourced | null {
  return (
    whole(env, 'CONSENTCTL_CONFIG_DIR') ??
    (platform === 'win32' ? below(env, platform, 'APPDATA', 'consentctl') : null) ??
    below(env, platform, 'XDG_CONFIG_HOME', 'consentctl') ??
    inHome(env, platform, '.config', 'consentctl')
  )
}

/** For journals and receipts. @throws CliError (settings) without a home folder */
export function stateFolder(env: Env, platform: string): Sourced {
  const folder =
    whole(env, 'CONSENTCTL_STATE_DIR') ??
    (platform === 'win32' ? below(env, platform, 'LOCALAPPDATA', 'consentctl', 'state') : null) ??
    below(env, platform, 'XDG_STATE_HOME', 'consentctl') ??
    inHome(env, platform, '.local', 'state', 'consentctl')
  if (!folder) throw settingsError('no home folder for journals', 'set CONSENTCTL_STATE_DIR')
  return folder
}

function whole(env: Env, name: string): Sourced | null {
  const value = env[name]
  return value ? { value, source: name } : null
}

/** Relative paths are invalid (XDG Base Directory 0.8). */
function below(env: Env, platform: string, name: string, ...parts: string[]): Sourced | null {
  const { isAbsolute, join } = platform === 'win32' ? win32 : posix
  const base = env[name]
  return base && isAbsolute(base) ? { value: join(base, ...parts), source: name } : null
}

function inHome(env: Env, platform: string, ...parts: string[]): Sourced | null {
  const home = below(env, platform, 'HOME', ...parts) ?? below(env, platform, 'USERPROFILE', ...parts)
  return home && { ...home, source: 'default' }
}
