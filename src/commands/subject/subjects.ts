import type { Command } from 'commander'
import * as z from 'zod'
import { collect } from '../../cli/action.ts'
import { formatCount } from '../../cli/messages.ts'
import type { Context } from '../../context.ts'
import { text } from '../../contract/values.ts'
import { dataError } from '../../errors/errors.ts'
import { decode, readLines } from '../../io/input.ts'
import { visible } from '../../output/index.ts'

export const Subject = text(1, 255)

export const alsoOption = { also: z.array(Subject).optional() }

export function addAlsoFlag(command: Command): Command {
  return command.option('--also <id>', 'another identifier of the same person; repeatable', collect)
}

/** Returns true if an identifier is `-`, the lines of stdin. */
export function readsStdin(operands: readonly string[], also: readonly string[] = []): boolean {
  return [...operands, ...also].includes('-')
}

/**
 * Returns all identifiers of a person, each once; `-` stands for the lines of stdin, unchanged. @throws CliError
 * invalid_data (exit 5) for an invalid line, or if stdin is empty
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

/** Writes the numbers of records and of deleted ones by site to stderr. */
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
