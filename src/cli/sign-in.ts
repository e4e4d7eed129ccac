import type { Command } from 'commander'
import * as z from 'zod'
import type { Client } from '../client/client.ts'
import type { Context } from '../context.ts'
import { scopes } from '../contract/endpoint.ts'
import { session } from '../contract/session.ts'
import { usageError } from '../errors/errors.ts'
import { readText } from '../io/input.ts'
import { canPrompt, promptHidden } from '../io/prompt.ts'
import { visible } from '../output/index.ts'
import { requireBaseUrl } from '../settings/settings.ts'
import { nonEmpty } from './action.ts'
import { instanceLabel } from './messages.ts'

/** A password from standard input, without the end of its line; on a terminal it would be shown while it is typed. */
export async function readPassword({ io }: Context): Promise<string> {
  if (io.stdin.isTTY) throw usageError('standard input is a terminal', 'leave --password-stdin out')
  const password = (await readText(io, '-')).replace(/\r?\n$/, '')
  if (password === '') throw usageError('there is no password on standard input')
  return password
}

/** Who signs in, for what an API key is not allowed to do. */
export const signInOptions = { email: nonEmpty.optional(), passwordStdin: z.literal(true).optional() }

export type SignInOptions = z.output<z.ZodObject<typeof signInOptions>>

export function addSignInFlags(command: Command): Command {
  return command
    .option('--email <address>', 'who signs in (CONSENTCTL_EMAIL, or the profile’s)')
    .option('--password-stdin', 'read the password from standard input instead of asking for it')
}

/** For the help of each of these commands. */
export const signInHelp = `
No API key may do this: you sign in, with a password that is asked for or read with --password-stdin.
The session stays in memory. It is not signed out, for that would end your other sessions too (those of
the dashboard); left alone, it ends after some hours.`

/**
 * Signs in and resolves to the API as that person may use it. Throws a usage error where it is not known who signs in, or
 * where nobody can be asked for the password.
 */
export async function signIn(
  ctx: Context,
  { email = ctx.settings.email?.value, passwordStdin }: SignInOptions,
): Promise<Client> {
  requireBaseUrl(ctx.settings) // what is wrong with the instance shows before a password is asked for
  if (!email) throw usageError('who signs in? name them with --email', 'or set CONSENTCTL_EMAIL')
  const password = passwordStdin ? await readPassword(ctx) : await askForPassword(ctx, email)
  if (password === '') throw usageError('the password is empty')
  const api = ctx.apiWith(null)
  await api.call(session.create, { body: { email, password } })
  return api
}

async function askForPassword(ctx: Context, email: string): Promise<string> {
  if (!canPrompt(ctx.io))
    throw usageError(
      'cannot prompt for the password: stdin and stderr must be a terminal',
      'use --password-stdin',
    )
  return await promptHidden(ctx.io, `Password of ${visible(email)} on ${instanceLabel(ctx)} (not shown): `)
}

/** `--scope`: repeated, or with several at once; `KeyDraft` has what is allowed. */
export function addScopeFlag(command: Command): Command {
  return command.option(
    '--scope <scopes>',
    `what the key may do: ${scopes.join(', ')}; all of them if not given`,
    (list: string, before: readonly string[] = []) => [...before, ...list.split(',')],
  )
}
