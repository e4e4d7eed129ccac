import type { Command } from 'commander'
import * as z from 'zod'
import type { Client } from '../client/client.ts'
import type { Context } from '../context.ts'
import { defaultScopes, scopes } from '../contract/endpoint.ts'
import { session } from '../contract/session.ts'
import { usageError } from '../errors/errors.ts'
import { readText } from '../io/input.ts'
import { canPrompt, promptHidden } from '../io/prompt.ts'
import { visible } from '../output/index.ts'
import { requireBaseUrl } from '../settings/settings.ts'
import { nonEmpty } from './action.ts'
import { instanceLabel } from './messages.ts'

/** Rejects a terminal, which would show the password. */
export async function readPassword({ io }: Context): Promise<string> {
  if (io.stdin.isTTY) throw usageError('standard input is a terminal', 'remove --password-stdin')
  const password = (await readText(io, '-')).replace(/\r?\n$/, '')
  if (password === '') throw usageError('no password on standard input')
  return password
}

export const signInOptions = { email: nonEmpty.optional(), passwordStdin: z.literal(true).optional() }

type SignInOptions = z.output<z.ZodObject<typeof signInOptions>>

export function addSignInFlags(command: Command): Command {
  return command
    .option('--email <address>', 'sign in as this user (CONSENTCTL_EMAIL, or the profile’s email)')
    .option('--password-stdin', 'read the password from standard input instead of prompting')
}

export const signInHelp = `
API keys cannot do this: you sign in with your password, at a prompt or with --password-stdin. The
session is kept only in memory and expires after some hours. It is not signed out, because that would
also end your other sessions, such as the dashboard's.`

/** @throws CliError (usage) without an email, or if the password cannot be prompted for */
export async function signIn(
  ctx: Context,
  { email = ctx.settings.email?.value, passwordStdin }: SignInOptions,
): Promise<Client> {
  requireBaseUrl(ctx.settings) // before the prompt
  if (!email) throw usageError('no e-mail address is set for sign-in', 'use --email, or set CONSENTCTL_EMAIL')
  const password = passwordStdin ? await readPassword(ctx) : await askForPassword(ctx, email)
  if (password === '') throw usageError('the password is empty')
  const api = ctx.apiWith(null)
  await api.call(session.create, { body: { email, password } })
  return api
}

export async function keyOrSignIn(ctx: Context, options: SignInOptions): Promise<Client> {
  const { apiKey, email } = ctx.settings
  const mustSignIn = options.email !== undefined || options.passwordStdin || (apiKey === null && email !== null)
  return mustSignIn ? await signIn(ctx, options) : ctx.api
}

async function askForPassword(ctx: Context, email: string): Promise<string> {
  if (!canPrompt(ctx.io))
    throw usageError('cannot prompt for the password: stdin and stderr must be a terminal', 'use --password-stdin')
  return await promptHidden(ctx.io, `Password of ${visible(email)} on ${instanceLabel(ctx)} (not shown): `)
}

export function addScopeFlag(command: Command): Command {
  return command.option(
    '--scope <scopes>',
    `scopes of the key: ${scopes.join(', ')} (${defaultScopes.join(',')})`,
    (list: string, before: readonly string[] = []) => [...before, ...list.split(',')],
  )
}
