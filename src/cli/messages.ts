import type { Client } from '../client/client.ts'
import type { Context } from '../context.ts'
import type { ConsentQuery, Endpoint } from '../contract/index.ts'
import { CliError, exit } from '../errors/errors.ts'
import { explain } from '../errors/explain.ts'

export function instanceLabel({ settings }: Context): string {
  const host = settings.baseUrl ? new URL(settings.baseUrl.value).host : '?'
  return `${settings.profile.value}@${host}`
}

export function formatCount(count: number, noun = 'record'): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

/**
 * @throws CliError `not_offered` with the text of `without`, if the instance's OpenAPI document lacks the endpoint
 * (404) or its query parameter `parameter` (400)
 */
export async function callOptional<T>(
  api: Client,
  endpoint: Endpoint,
  call: () => Promise<T>,
  without: { readonly message: string; readonly hint: string; readonly parameter?: string },
): Promise<T> {
  try {
    return await call()
  } catch (error) {
    const { message, hint, parameter } = without
    const isMissing = explain(error).status === (parameter ? 400 : 404)
    const named = parameter ? ({ in: 'query', name: parameter } as const) : undefined
    if (!isMissing || (await api.supports(endpoint, named).catch(() => true))) throw error
    throw new CliError('not_offered', exit.usage, message, { hint, cause: error })
  }
}

/** Its times are absolute, because the cursor is bound to them. */
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
    if (flag === '--force') continue // valid only with --out
    if (!Object.hasOwn(now, flag)) words.push(argv[index] ?? '')
    else if (value.length === 0) index += 1
  }
  const given = Object.entries(now).flatMap(([flag, value]) => (value === undefined ? [] : [flag, value]))
  return ['consentctl', ...words, ...given, '--cursor', cursor].map(quoteForShell).join(' ')
}

export function quoteForShell(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}

export function subjectCommand(ctx: Pick<Context, 'globals'>, ...words: string[]): string {
  return commandLike(ctx, 'subject', ...words)
}

export function commandLike({ globals }: Pick<Context, 'globals'>, ...words: string[]): string {
  const { profile, baseUrl } = globals
  const flags = [...(profile ? ['-p', profile] : []), ...(baseUrl ? ['--base-url', baseUrl] : [])]
  return ['consentctl', ...words, ...flags].map(quoteForShell).join(' ')
}
