import type { Command } from 'commander'
import * as z from 'zod'
import type { Context } from '../../context.ts'
import { text } from '../../contract/values.ts'
import { visible } from '../../output/index.ts'
import { collect } from '../action.ts'
import { counted } from '../instance.ts'

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

/** All identifiers that were given, each once. */
export function subjectsOf([first]: readonly string[], also: readonly string[] = []): string[] {
  return [...new Set([...(first === undefined ? [] : [first]), ...also])]
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
  const sites = counts.size > 1 ? ` on ${counted(counts.size, 'site')}` : ''
  const state = deleted > 0 ? `, ${total - deleted} live and ${deleted} deleted` : ''
  await ctx.say(`${counted(total)}${sites} on ${where}${state}`)
}
