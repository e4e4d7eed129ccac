import type { Command } from 'commander'
import * as z from 'zod'
import { nonEmpty } from '../../cli/action.ts'
import { addConfirmFlags, confirmOptionsFromZero } from '../../cli/confirm.ts'
import { startInstant } from '../../cli/time.ts'
import type { Context } from '../../context.ts'
import { text } from '../../contract/values.ts'
import { usageError } from '../../errors/errors.ts'
import { alsoFlag, alsoOption, Subject, subjectsOf } from './subjects.ts'

export const EraseOptions = z.strictObject({
  ...alsoOption,
  ...confirmOptionsFromZero,
  operands: z.array(Subject).max(1).default([]),
  ticket: text(1, 100).optional(),
  reason: text(1, 500).optional(),
  received: nonEmpty.optional(),
  exportFirst: nonEmpty.optional(),
  planOut: nonEmpty.optional(),
  apply: nonEmpty.optional(),
  dryRun: z.literal(true).optional(),
  showSubject: z.literal(true).optional(),
})
export type EraseOptions = z.output<typeof EraseOptions>

export function eraseFlags(command: Command): Command {
  return addConfirmFlags(
    alsoFlag(command)
      .option('--ticket <text>', 'the request that this answers; needed to erase')
      .option('--reason <text>', 'why, for the receipt')
      .option('--received <date>', 'when the request was received, such as 2026-01-31; the due date follows')
      .option('--export-first <file>', 'write what is held into a new file before anything is deleted')
      .option('--plan-out <file>', 'write the plan into a new file, and stop: nothing is deleted')
      .option('--apply <file>', 'carry out such a plan, exactly, if nothing has changed since')
      .option('--dry-run', 'show what would be deleted, and stop')
      .option('--show-subject', 'have the receipt name the subject in clear'),
    'record',
  )
}

/** What is to be done about whom. */
export interface Request {
  readonly subjects: readonly string[]
  readonly ticket: string
  readonly reason: string | null
  /** `2026-01-31`. */
  readonly received_at: string | null
}

/** The request that the flags make; null where a plan says it. Throws a usage error for flags that make no sense together. */
export async function requestOf(ctx: Context, options: EraseOptions): Promise<Request | null> {
  const { operands, also, ticket, reason, received, apply, planOut, dryRun } = options
  if (planOut && dryRun) throw usageError('--plan-out deletes nothing: --dry-run makes no sense with it')
  if (apply !== undefined) {
    const said = {
      id: operands[0],
      '--also': also,
      '--ticket': ticket,
      '--reason': reason,
      '--received': received,
    }
    for (const [name, value] of Object.entries({ ...said, '--plan-out': planOut }))
      if (value !== undefined)
        throw usageError(`with --apply the plan says everything: ${name} makes no sense`)
    return null
  }
  if (operands[0] === undefined)
    throw usageError('whom is it about?', 'name the data subject, or a plan with --apply')
  if (ticket === undefined && !dryRun)
    throw usageError('--ticket is missing', 'name the request that this answers: the receipt must tell it')
  const received_at = received === undefined ? null : dayOf(received)
  const subjects = await subjectsOf(ctx, operands, also)
  return { subjects, ticket: ticket ?? '', reason: reason ?? null, received_at }
}

function dayOf(received: string): string {
  const now = new Date()
  const day = startInstant(received, now).slice(0, 10)
  if (day > new Date(now.getTime() + 86_400_000).toISOString().slice(0, 10))
    throw usageError(`--received: ${received} is still to come`)
  return day
}
