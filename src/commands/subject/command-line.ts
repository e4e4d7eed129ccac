import type { Context } from '../../context.ts'
import { quoted } from '../consents/resume.ts'

/** A command of `subject` for a shell, with the profile and the address that were given to this one. */
export function commandLine({ globals }: Pick<Context, 'globals'>, ...words: string[]): string {
  const { profile, baseUrl } = globals
  const flags = [...(profile ? ['-p', profile] : []), ...(baseUrl ? ['--base-url', baseUrl] : [])]
  return ['consentctl', 'subject', ...words, ...flags].map(quoted).join(' ')
}
