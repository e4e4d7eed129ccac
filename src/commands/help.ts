import type { Command } from 'commander'
import * as z from 'zod'
import { nonEmpty, textAction } from '../cli/action.ts'
import type { Context } from '../context.ts'
import { describe } from '../docs/describe.ts'
import { fullHelp, globalFlags, type Look, topicHelp } from '../docs/help.ts'
import { pageOf } from '../docs/pages.ts'
import { topicNames } from '../docs/topics.ts'
import { usageError } from '../errors/errors.ts'

export function help(command: Command, ctx: Context): void {
  command
    .argument('[words...]', `a command, or a topic: options, ${topicNames.join(', ')}`)
    .description(`
Examples:
  $ consentctl help create
  $ consentctl help subject erase
  $ consentctl help exit-codes`)
    .action(
      textAction(
        ctx,
        z.strictObject({ operands: z.array(nonEmpty).optional() }),
        async (_, { operands = [] }) => await helpOn(command.parent as Command, operands, lookOf(ctx)),
      ),
    )
}

function lookOf({ io, globals }: Context): Look {
  const isScreen = globals.out === undefined
  return { columns: isScreen ? io.out.columns : 80, color: isScreen ? io.out.color : globals.color === 'always' }
}

/** @throws CliError (usage) */
async function helpOn(program: Command, words: readonly string[], look: Look): Promise<string> {
  const [first = ''] = words
  if (words.length === 1 && topicNames.includes(first)) return topicHelp(first, look)
  if (words.length === 1 && first === 'options') return globalFlags(describe(program), look)
  let found = program
  for (const word of words) {
    const child = found.commands.find(each => each.name() === word || each.aliases().includes(word))
    if (!child)
      throw usageError(`no help for "${words.join(' ')}"`, `use a command, or one of options, ${topicNames.join(', ')}`)
    found = child
  }
  const page = await pageOf(found)
  return fullHelp(describe(found), look) + (page === null ? '' : `\n${page}`)
}
