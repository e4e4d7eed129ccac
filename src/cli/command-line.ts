import type { Context } from '../context.ts'
import type { ConsentQuery } from '../contract/index.ts'

/** The same command from a cursor on; a time that was relative is written out, for the cursor is bound to it. */
export function resumeCommand(
  argv: readonly string[],
  { from, to, at }: Pick<ConsentQuery, 'from' | 'to'> & { readonly at?: string | undefined },
  cursor: string,
): string {
  const now: Record<string, string | undefined> = {
    '--from': from,
    '--to': to,
    '--at': at,
    '--cursor': undefined,
    '--out': undefined,
  }
  const words: string[] = []
  for (let index = 2; index < argv.length; index += 1) {
    const [flag = '', ...value] = (argv[index] ?? '').split('=')
    if (!Object.hasOwn(now, flag)) words.push(argv[index] ?? '')
    else if (value.length === 0) index += 1
  }
  const given = Object.entries(now).flatMap(([flag, value]) => (value === undefined ? [] : [flag, value]))
  return ['consentctl', ...words, ...given, '--cursor', cursor].map(quoted).join(' ')
}

/** A word as a POSIX shell reads it back. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}

/** A command of `subject` for a shell, with the profile and the address that were given to this one. */
export function commandLine({ globals }: Pick<Context, 'globals'>, ...words: string[]): string {
  const { profile, baseUrl } = globals
  const flags = [...(profile ? ['-p', profile] : []), ...(baseUrl ? ['--base-url', baseUrl] : [])]
  return ['consentctl', 'subject', ...words, ...flags].map(quoted).join(' ')
}
