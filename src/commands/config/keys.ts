import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { type CliError, usageError } from '../../errors/errors.ts'
import { parseBaseUrl } from '../../settings/settings.ts'
import type { Profile } from '../../settings/store.ts'

/** The known name that a text was probably meant to be; null where none is near. */
function nearest(text: string, known: readonly string[]): string | null {
  const plain = text.replace(/[^a-z]/gi, '').toLowerCase()
  const scored = known
    .map(name => ({ name, distance: editDistance(plain, name.replace(/_/g, '')) }))
    .sort((a, b) => a.distance - b.distance)
  const [best] = scored
  return best && best.distance <= Math.max(1, best.name.length / 3) ? best.name : null
}

/** How many letters to add, take away or change, to make one text of another (Levenshtein 1966). */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (const [index, letter] of [...from].entries()) {
    const next = [index + 1]
    for (let at = 0; at < to.length; at += 1) {
      const changed = (row[at] ?? 0) + (to[at] === letter ? 0 : 1)
      next.push(Math.min(changed, (row[at + 1] ?? 0) + 1, (next[at] ?? 0) + 1))
    }
    row = next
  }
  return row.at(-1) ?? 0
}

/** What a profile can hold, and how its text is checked; each throws a usage error. */
export const profileKeys: { readonly [Key in keyof Profile]-?: (text: string) => NonNullable<Profile[Key]> } =
  {
    base_url: text => parseBaseUrl(text, 'base_url'),
    site: text =>
      matching('site', text, /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i, 'the id of a site: a UUID'),
    email: text => matching('email', text, /^[^\s@]+@[^\s@]+$/, 'an e-mail address'),
    protected: yesOrNo,
    key_command: text => matching('key_command', text, /\S/, 'a command'),
    ca_file: caFile,
  }

export type ProfileKey = keyof typeof profileKeys

/** The name of something that a profile holds, or of the default profile. Throws a usage error for any other. */
export function keyNamed(name: string): ProfileKey | 'profile' {
  if (name === 'profile' || Object.hasOwn(profileKeys, name)) return name as ProfileKey | 'profile'
  if (/key|token|secret|password|credential/i.test(name)) {
    throw usageError(
      'config.json holds no secrets',
      'consentctl auth login --with-key < FILE; or config set key_command, for a command that prints the key',
    )
  }
  throw unknownKey(name, ['profile', ...Object.keys(profileKeys)])
}

/** Says what was probably meant, and else what there is. */
export function unknownKey(name: string, known: readonly string[]): CliError {
  const near = nearest(name, known)
  return usageError(
    `there is no setting ${name}`,
    near ? `did you mean ${near}?` : `there are: ${known.join(', ')}`,
  )
}

function matching(key: string, text: string, pattern: RegExp, what: string): string {
  if (!pattern.test(text)) throw usageError(`${key}: "${text}" is not ${what}`)
  return text
}

function yesOrNo(text: string): boolean {
  if (/^(true|yes|on)$/i.test(text)) return true
  if (/^(false|no|off)$/i.test(text)) return false
  throw usageError(`protected: "${text}" is neither true nor false`)
}

/** A file's whole path, so that it is found from every folder. */
function caFile(text: string): string {
  const path = resolve(text)
  let content: string
  try {
    content = readFileSync(path, 'utf8')
  } catch (error) {
    throw usageError(`ca_file: ${path} cannot be read: ${(error as Error).message}`)
  }
  if (content.includes('-----BEGIN CERTIFICATE-----')) return path
  throw usageError(`ca_file: ${path} holds no certificate in PEM`)
}
