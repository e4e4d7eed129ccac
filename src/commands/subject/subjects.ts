import type { Command } from 'commander'
import * as z from 'zod'
import { collect } from '../../cli/action.ts'
import { formatCount } from '../../cli/messages.ts'
import type { Context } from '../../context.ts'
import { text } from '../../contract/values.ts'
import { dataError } from '../../errors/errors.ts'
import { decode, readLines } from '../../io/input.ts'
import { visible } from '../../output/index.ts'

/** An identifier of a data subject, as the service takes it. */
export const Subject = text(1, 255)

/** Further identifiers of the same person. */
export const alsoOption = { also: z.array(Subject).optional() }

export function alsoFlag(command: Command): Command {
  return command.option(
    '--also <id>',
    'another identifier of the same person; may be given several times',
    collect,
  )
}

/** Whether `-` stands among identifiers for the lines of stdin. */
export function readsInput(operands: readonly string[], also: readonly string[] = []): boolean {
  return [...operands, ...also].includes('-')
}

/**
 * All identifiers of a person that were given, each once; `-` stands for the lines of stdin, exactly as they are. Throws a
 * data error for a line that is none, and where there is no line.
 */
export async function subjectsOf(
  { io }: Pick<Context, 'io'>,
  operands: readonly string[],
  also: readonly string[] = [],
): Promise<string[]> {
  const given = [...operands, ...also]
  const named = new Set(given.filter(each => each !== '-'))
  if (!given.includes('-')) return [...named]
  for await (const { number, bytes } of readLines(io, '-')) {
    const subject = Subject.safeParse(decode(bytes, `line ${number}`))
    if (!subject.success)
      throw dataError(`line ${number} of standard input ${subject.error.issues[0]?.message}`)
    named.add(subject.data)
  }
  if (named.size === 0) throw dataError('standard input names nobody')
  return [...named]
}

/** Tells on stderr how many records there are of each site, and how many of them all are deleted. */
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
