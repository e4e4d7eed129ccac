import type { Command } from 'commander'
import * as z from 'zod'
import type { Context } from '../context.ts'
import type { DataSubjectRequest } from '../contract/requests.ts'
import { text } from '../contract/values.ts'
import { CliError, dataError, exit, usageError } from '../errors/errors.ts'
import { decode, readLines } from '../io/input.ts'
import { visible } from '../output/index.ts'
import { collect } from './action.ts'
import { formatCount, quoteForShell } from './messages.ts'
import { findRequest } from './register.ts'

export const Subject = text(1, 255)

export const alsoOption = { also: z.array(Subject).optional() }

export function addAlsoFlag(command: Command): Command {
  return command.option('--also <id>', 'another identifier of the same person; repeatable', collect)
}

export function readsStdin(operands: readonly string[], also: readonly string[] = []): boolean {
  return [...operands, ...also].includes('-')
}

/**
 * Returns each identifier once; `-` reads lines of stdin, unchanged.
 * @throws CliError `invalid_data` (exit 5) for an invalid line or empty stdin
 */
export async function readSubjects(
  { io }: Pick<Context, 'io'>,
  operands: readonly string[],
  also: readonly string[] = [],
): Promise<string[]> {
  const given = [...operands, ...also]
  const subjects = new Set(given.filter(each => each !== '-'))
  if (!given.includes('-')) return [...subjects]
  for await (const { number, bytes } of readLines(io, '-')) {
    const subject = Subject.safeParse(decode(bytes, `line ${number}`))
    if (!subject.success) throw dataError(`line ${number} of standard input ${subject.error.issues[0]?.message}`)
    subjects.add(subject.data)
  }
  if (subjects.size === 0) throw dataError('no identifiers on standard input')
  return [...subjects]
}

export const requestOption = { request: text(1, 100).optional() }

export function addRequestFlag(command: Command): Command {
  return command.option('--request <ticket>', 'use the identifiers of this request in the register')
}

export interface Person {
  readonly subjects: readonly string[]
  readonly request: DataSubjectRequest | null
}

/** @throws CliError (usage) unless exactly one of the two is given, `not_found` (exit 3), `closed` (exit 5) */
export async function readPerson(
  ctx: Pick<Context, 'io' | 'api'>,
  operands: readonly string[],
  { also, request: ticket }: { readonly also?: readonly string[] | undefined; readonly request?: string | undefined },
): Promise<Person> {
  if (ticket === undefined) {
    if (operands.length === 0) throw usageError('missing identifier', 'name the data subject, or use --request TICKET')
    return { subjects: await readSubjects(ctx, operands, also), request: null }
  }
  if (operands.length > 0 || also)
    throw usageError(
      'identifiers cannot be given with --request: they come from the register',
      `consentctl requests show ${quoteForShell(ticket)}`,
    )
  const request = await findRequest(ctx.api, ticket)
  if (request.subject_ids === null)
    throw new CliError('closed', exit.rejected, `request ${ticket} is closed: its identifiers were removed`, {
      hint: 'name the identifiers, without --request',
    })
  return { subjects: request.subject_ids, request }
}

export async function tellSites(
  ctx: Pick<Context, 'say'>,
  counts: ReadonlyMap<string | null, number>,
  where: string,
  deleted = 0,
): Promise<void> {
  for (const [site, count] of counts) await ctx.say(`${count} of site ${visible(site ?? '(none)')}`)
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0)
  const sites = counts.size > 1 ? ` on ${formatCount(counts.size, 'site')}` : ''
  const state = deleted > 0 ? `, ${total - deleted} live and ${deleted} deleted` : ''
  await ctx.say(`${formatCount(total)}${sites} on ${where}${state}`)
}
