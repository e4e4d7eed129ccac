import type { Command } from 'commander'
import * as z from 'zod'
import type { Context } from '../context.ts'
import { CliError, exit, usageError } from '../errors/errors.ts'
import { ask, canAsk, declinedError } from '../io/prompt.ts'
import { formats, type View, visible } from '../output/index.ts'
import { Count } from './action.ts'
import { counted } from './instance.ts'

interface Question {
  /** What would be done, as a verb. */
  readonly action: string
  /** What it would be done to, in the singular. */
  readonly noun: string
  /** Where it would be done. */
  readonly where: string
  /** How many there are of each site, where that says something. */
  readonly counts?: ReadonlyMap<string, number>
  /** How many there are, where what is shown are not the things themselves. */
  readonly total?: number
}

/**
 * Shows on stderr what a command would do its work on, and asks: yes or no for one, their number for several. Throws
 * when it is declined.
 */
export async function confirm<Row>(
  { io, interruption }: Context,
  view: View<Row>,
  rows: readonly Row[],
  { action, noun, where, counts, total = rows.length }: Question,
): Promise<void> {
  const single = total === 1
  const { columns, color } = io.err
  const show = await formats.table(single)
  await io.err.write(`${show(view, { single, columns, color, header: false }).rows(rows)}\n`)
  if (single) {
    const question = `${action[0]?.toUpperCase()}${action.slice(1)} this ${noun} on ${where}? [y/N] `
    if (!/^y(es)?$/i.test((await ask(io, question, interruption)).trim())) throw declinedError()
    return
  }
  for (const [site, count] of counts ?? []) await io.err.write(`${count} of site ${visible(site)}\n`)
  const answer = await ask(io, `Type ${total} to ${action} these ${noun}s on ${where}: `, interruption)
  if (answer.trim() !== String(total)) throw declinedError(answer.trim(), String(total))
}

/** What stands for the answer to a question, where nobody can be asked or wants to be. */
export const sureOptions = { yes: z.literal(true).optional(), confirm: Count.optional() }

/** The same where that none is there is an answer too, which has its proof. */
export const sureOfAnyOptions = {
  ...sureOptions,
  confirm: z
    .string()
    .regex(/^(0|[1-9]\d{0,14})$/, 'must be a whole number')
    .transform(Number)
    .optional(),
}

export interface Sure {
  readonly yes?: true | undefined
  readonly confirm?: number | undefined
}

export function sureFlags(command: Command, noun: string): Command {
  return command
    .option('-y, --yes', 'do not ask; needed, or --confirm, where nobody can be asked')
    .option('--confirm <n>', `do not ask, and go on only if exactly so many ${noun}s are there`)
}

/**
 * Whether to ask. Throws a usage error, before any request, where nobody can be asked and nothing was said, and where a
 * protected profile wants to hear more than --yes.
 */
export function isToAsk(ctx: Context, { yes, confirm }: Sure, action: string, isInputTaken = false): boolean {
  if (confirm !== undefined) return false
  const { isProtected, profile } = ctx.settings
  if (yes && !isProtected) return false
  if (yes)
    throw usageError(
      `the profile ${profile.value} is protected: --yes alone does not ${action} anything there`,
      'say how many there are, with --confirm',
    )
  if (!isInputTaken && canAsk(ctx.io)) return true
  throw usageError(
    `nobody can be asked here whether to ${action}`,
    `${isProtected ? '' : 'add --yes if you are sure, or '}say how many there are, with --confirm`,
  )
}

/** Throws where not as many are there as were said to be (exit 10). */
export function checkCount({ confirm }: Sure, found: number, noun: string, done: string): void {
  if (confirm === undefined || confirm === found) return
  const there = `${found === 1 ? 'there is' : 'there are'} ${counted(found, noun)}`
  throw new CliError('changed', exit.changed, `${there}, not ${confirm}: nothing was ${done}`)
}
