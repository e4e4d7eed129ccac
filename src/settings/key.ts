import { CliError, exit, settingsError } from '../errors/errors.ts'
import type { Warn } from './store.ts'

/** A key as text, and where it came from. */
export interface Key {
  readonly value: string
  readonly source: string
}

/** Where a key comes from. It is read when a request needs it, and once: a command may ask a person, or cost money. */
export interface KeySource {
  readonly source: string
  /** The key, where it is at hand already; null where it would have to be read from a file, or from a command. */
  readonly atHand: string | null
  /** Throws a CliError where there is no key, or what is there is none (exit 4). */
  read(): Promise<Key>
}

type Env = Readonly<Record<string, string | undefined>>

/** The key of the environment: as text, or as the name of a file. Both at once is an error, for one of them is wrong. */
export function keyOfEnvironment(env: Env, warn: Warn): KeySource | null {
  const text = env['CONSENTCTL_API_KEY']?.trim()
  const file = env['CONSENTCTL_API_KEY_FILE']
  if (text && file) {
    return lazy('CONSENTCTL_API_KEY and CONSENTCTL_API_KEY_FILE', null, async () => {
      throw settingsError('CONSENTCTL_API_KEY and CONSENTCTL_API_KEY_FILE are both set', 'unset one of them')
    })
  }
  if (text) return lazy('CONSENTCTL_API_KEY', text, async () => text)
  if (!file) return null
  return lazy('CONSENTCTL_API_KEY_FILE', null, async () =>
    (await import('./key-file.ts')).readKeyFile(file, warn),
  )
}

/** A key that a profile's command prints. `configFile` is where the command stands. */
export function keyOfCommand(command: string, profile: string, configFile: string, env: Env): KeySource {
  return lazy(`profile ${profile}, key_command`, null, async () =>
    (await import('./key-command.ts')).runKeyCommand(command, { profile, configFile, env }),
  )
}

export function storedKey(profile: string, text: string): KeySource {
  return lazy(`profile ${profile}, credentials.json`, text, async () => text)
}

/** A key as it may be shown: its kind and its last four characters. */
export function maskKey(key: string): string {
  return key.length > 12 ? `${key.slice(0, 3)}…${key.slice(-4)}` : '…'
}

/** Whether a text has the shape of a key, whatever is in it. */
export function isKey(text: string): boolean {
  return /^sk-[\x21-\x7e]+$/.test(text)
}

/** There is no key to be had from a source (exit 4). */
export function noKey(message: string, hint: string): CliError {
  return new CliError('no_key', exit.auth, message, { hint })
}

function lazy(source: string, atHand: string | null, text: () => Promise<string>): KeySource {
  let reading: Promise<Key> | undefined
  const read = async () => {
    const value = (await text()).trim()
    if (value === '')
      throw noKey(`${source}: there is nothing in it`, 'a key is one line, and begins with sk-')
    if (!isKey(value)) throw noKey(`${source} holds no API key`, 'a key is one line, and begins with sk-')
    return { value, source }
  }
  return {
    source,
    atHand,
    read: () => {
      reading ??= read()
      return reading
    },
  }
}
