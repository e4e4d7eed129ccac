import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { type CliError, usageError } from '../errors/errors.ts'
import { parseBaseUrl } from '../settings/settings.ts'
import type { Profile } from '../settings/store.ts'

/** @throws CliError (usage) */
export const profileKeys: { readonly [Key in keyof Profile]-?: (text: string) => NonNullable<Profile[Key]> } = {
  base_url: text => parseBaseUrl(text, 'base_url'),
  site: text => text, // validated by the instance
  email: text => matching('email', text, /^[^\s@]+@[^\s@]+$/, 'an e-mail address'),
  protected: yesOrNo,
  key_command: text => matching('key_command', text, /\S/, 'a command'),
  ca_file: caFile,
}

export type ProfileKey = keyof typeof profileKeys

/** @throws CliError (usage) */
export function keyNamed(name: string): ProfileKey | 'profile' {
  if (name === 'profile' || Object.hasOwn(profileKeys, name)) return name as ProfileKey | 'profile'
  if (/key|token|secret|password|credential/i.test(name)) {
    throw usageError(
      'config.json cannot store secrets',
      'use consentctl auth login, or set key_command to a command that prints the key',
    )
  }
  throw unknownKey(name, ['profile', ...Object.keys(profileKeys)])
}

export function unknownKey(name: string, known: readonly string[]): CliError {
  return usageError(`unknown setting "${name}"`, `known settings: ${known.join(', ')}`)
}

function matching(key: string, text: string, pattern: RegExp, what: string): string {
  if (!pattern.test(text)) throw usageError(`${key}: "${text}" is not ${what}`)
  return text
}

function yesOrNo(text: string): boolean {
  if (/^(true|yes|on)$/i.test(text)) return true
  if (/^(false|no|off)$/i.test(text)) return false
  throw usageError(`protected: invalid value "${text}"`, 'use true or false')
}

function caFile(text: string): string {
  const path = resolve(text)
  let content: string
  try {
    content = readFileSync(path, 'utf8')
  } catch (error) {
    throw usageError(`ca_file: cannot read ${path}: ${(error as Error).message}`)
  }
  if (content.includes('-----BEGIN CERTIFICATE-----')) return path
  throw usageError(`ca_file: ${path} does not contain a PEM certificate`)
}
