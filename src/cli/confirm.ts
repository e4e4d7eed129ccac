import type { Command } from 'commander'
import * as z from 'zod'
import type { Context } from '../context.ts'
import { CliError, exit, usageError } from '../errors/errors.ts'
import { canPrompt, declinedError, prompt } from '../io/prompt.ts'
import { formats, type View, visible } from '../output/index.ts'
import { Count } from './action.ts'
import { formatCount } from './messages.ts'

export const confirmOptions = { yes: z.literal(true).optional(), confirm: Count.optional() }

/** For commands that accept zero matches (`--confirm 0`). */
export const confirmOptionsFromZero = {
  ...confirmOptions,
  confirm: z
    .string()
    .regex(/^(0|[1-9]\d{0,14})$/, 'must be a whole number')
    .transform(Number)
    .optional(),
}

export interface ConfirmOptions {
  readonly yes?: true | undefined
  readonly confirm?: number | undefined
}

export function addConfirmFlags(command: Command, noun: string): Command {
  return command
    .option('-y, --yes', 'skip the confirmation prompt')
    .option('--confirm <n>', `skip the prompt, but only if exactly n ${noun}s match`)
}

interface Confirmation {
  /** Imperative: `delete`, `erase`, `revoke`. */
  readonly action: string
  readonly stdinInUse?: boolean
  readonly isUncounted?: boolean
}

/**
 * Returns true if a prompt is needed.
 * @throws CliError (usage) if no prompt is possible, or `--yes` is not enough for a protected profile
 */
export function mustPrompt(
  ctx: Context,
  { yes, confirm }: ConfirmOptions,
  { action, stdinInUse = false, isUncounted = false }: Confirmation,
): boolean {
  if (confirm !== undefined) return false
  const { isProtected, profile } = ctx.settings
  const enough = isUncounted ? 'confirm at a terminal' : 'use --confirm N'
  if (yes && isProtected)
    throw usageError(`profile ${profile.value} is protected: --yes is not enough to ${action}`, enough)
  if (yes) return false
  if (!stdinInUse && canPrompt(ctx.io)) return true
  const reason = stdinInUse ? 'stdin is read for input' : 'stdin and stderr must be a terminal'
  throw usageError(
    `cannot prompt: ${reason}`,
    isProtected ? enough : isUncounted ? 'use --yes' : 'use --yes or --confirm N',
  )
}

interface Question {
  readonly action: string
  readonly noun: string
  /** `profile@host`. */
  readonly where: string
  readonly notes?: readonly string[]
  readonly counts?: ReadonlyMap<string, number>
  /** Default: the number of rows. */
  readonly total?: number
}

/**
 * Prompts on stderr: y/N for one, the exact count for several.
 * @throws CliError `declined` (exit 9)
 */
export async function promptToConfirm<Row>(
  { io, interruption }: Context,
  view: View<Row>,
  rows: readonly Row[],
  { action, noun, where, notes = [], counts, total = rows.length }: Question,
): Promise<void> {
  const single = total === 1
  const { columns, color } = io.err
  const format = await formats.table(single)
  if (rows.length > 0) await io.err.write(`${format(view, { single, columns, color, header: false }).rows(rows)}\n`)
  if (rows.length < total && rows.length > 0) await io.err.write(`the first ${rows.length} of ${total} are shown\n`)
  for (const note of notes) await io.err.write(`${note}\n`)
  if (single) {
    const question = `${action[0]?.toUpperCase()}${action.slice(1)} this ${noun} on ${where}? [y/N] `
    if (!/^y(es)?$/i.test((await prompt(io, question, interruption)).trim())) throw declinedError()
    return
  }
  for (const [site, count] of counts ?? []) await io.err.write(`${count} of site ${visible(site)}\n`)
  const answer = (await prompt(io, `Type ${total} to ${action} these ${noun}s on ${where}: `, interruption)).trim()
  if (answer !== String(total)) throw declinedError(/^\d+$/.test(answer) ? `${answer} is not ${total}` : undefined)
}

/** @throws CliError `changed` (exit 10) if `found` is not the number of `--confirm` */
export function requireConfirmedCount({ confirm }: ConfirmOptions, found: number, noun: string, done: string): void {
  if (confirm === undefined || confirm === found) return
  const matches = `${formatCount(found, noun)} ${found === 1 ? 'matches' : 'match'}`
  const hint = found > 0 ? `look at them with --dry-run, then use --confirm ${found}` : undefined
  throw new CliError('changed', exit.changed, `${matches}, not ${confirm}: nothing was ${done}`, { hint })
}
