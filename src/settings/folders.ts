import { posix, win32 } from 'node:path'
import { settingsError } from '../errors/errors.ts'

type Env = Readonly<Record<string, string | undefined>>

/** A folder and its source: a variable's name, or `default`. */
export interface Folder {
  readonly value: string
  readonly source: string
}

/** The folder of the configuration, the same on macOS as on Linux. Null without a home folder. */
export function configFolder(env: Env, platform: string): Folder | null {
  return (
    whole(env, 'CONSENTCTL_CONFIG_DIR') ??
    (platform === 'win32' ? below(env, platform, 'APPDATA', 'consentctl') : null) ??
    below(env, platform, 'XDG_CONFIG_HOME', 'consentctl') ??
    inHome(env, platform, '.config', 'consentctl')
  )
}

/** The folder of journals and receipts. @throws CliError (settings) without a home folder */
export function stateFolder(env: Env, platform: string): Folder {
  const folder =
    whole(env, 'CONSENTCTL_STATE_DIR') ??
    (platform === 'win32' ? below(env, platform, 'LOCALAPPDATA', 'consentctl', 'state') : null) ??
    below(env, platform, 'XDG_STATE_HOME', 'consentctl') ??
    inHome(env, platform, '.local', 'state', 'consentctl')
  if (!folder) throw settingsError('no home folder to keep journals in', 'set CONSENTCTL_STATE_DIR')
  return folder
}

function whole(env: Env, name: string): Folder | null {
  const value = env[name]
  return value ? { value, source: name } : null
}

/** A folder below the one that a variable names. A relative path there is invalid (XDG Base Directory 0.8). */
function below(env: Env, platform: string, name: string, ...parts: string[]): Folder | null {
  const { isAbsolute, join } = platform === 'win32' ? win32 : posix
  const base = env[name]
  return base && isAbsolute(base) ? { value: join(base, ...parts), source: name } : null
}

function inHome(env: Env, platform: string, ...parts: string[]): Folder | null {
  const home = below(env, platform, 'HOME', ...parts) ?? below(env, platform, 'USERPROFILE', ...parts)
  return home && { ...home, source: 'default' }
}
