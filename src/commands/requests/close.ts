import type { Command } from 'commander'
import { Option } from 'commander'
import * as z from 'zod'
import { action } from '../../cli/action.ts'
import {
  addConfirmFlags,
  confirmOptions,
  mustPrompt,
  promptToConfirm,
  requireConfirmedCount,
} from '../../cli/confirm.ts'
import { instanceLabel } from '../../cli/messages.ts'
import { one } from '../../cli/output.ts'
import { changeRequest, describeDue, findRequest, isOverdue } from '../../cli/register.ts'
import type { Context } from '../../context.ts'
import { type DataSubjectRequest, requestOutcomes } from '../../contract/requests.ts'
import { text } from '../../contract/values.ts'
import { usageError } from '../../errors/errors.ts'
import { canPrompt, declinedError, prompt } from '../../io/prompt.ts'
import { registerView } from '../../views/register.ts'

const Reason = text(1, 500)

const Options = z.strictObject({
  ...confirmOptions,
  operands: z.tuple([text(1, 100)]),
  outcome: z.enum(requestOutcomes),
  reason: Reason.optional(),
})

export function close(command: Command, ctx: Context): void {
  addConfirmFlags(
    command
      .argument('<ticket>', 'the ticket of the request')
      .addOption(new Option('--outcome <outcome>', 'how it ended').choices(requestOutcomes).makeOptionMandatory())
      .option('--reason <text>', 'why it was refused or late, without names of persons'),
    'request',
  )
    .description(`
Closing cannot be undone: it removes the person's identifiers from the register, which keeps their HMACs. A
receipt can still be added. Prompts for confirmation without --yes. A late request needs a --reason for the report;
at a terminal it is asked for.

Examples:
  $ consentctl requests close DSR-7 --outcome done --yes
  $ consentctl requests close DSR-8 --outcome refused --reason 'manifestly unfounded' --yes`)
    .action(
      action(ctx, Options, registerView, async (_, { operands: [ticket], outcome, ...given }) => {
        if (outcome === 'refused' && given.reason === undefined)
          throw usageError(
            '--reason is missing',
            'a person must be informed why a request is refused (GDPR Art. 12(4))',
          )
        const asks = mustPrompt(ctx, given, { action: 'close' })
        const found = await findRequest(ctx.api, ticket)
        const rows = [{ ...found, overdue: isOverdue(found) }]
        requireConfirmedCount(given, rows.length, 'request', 'closed')
        if (outcome === 'done' && found.kind === 'erasure' && found.receipts.length === 0)
          await ctx.warn(`${ticket} is an erasure request without an erasure receipt`)
        const reason = given.reason ?? (isOverdue(found) ? await askReason(ctx, found) : undefined)
        const where = instanceLabel(ctx)
        if (asks) await promptToConfirm(ctx, registerView, rows, { action: 'close', noun: 'request', where })
        const change = { outcome, ...(reason !== undefined && { outcome_reason: reason }) }
        const closed = await changeRequest(ctx.api, found.id, change)
        return one(registerView, { ...closed, overdue: false }, { mutates: true })
      }),
    )
}

/**
 * A closed request cannot be changed, so the reason for the delay cannot be added later.
 * @throws CliError (usage) off a terminal; `declined` (exit 9) for an empty answer
 */
async function askReason({ io, interruption }: Context, found: DataSubjectRequest): Promise<string> {
  const due = `${found.ticket} was due on ${describeDue(found)}`
  if (!canPrompt(io))
    throw usageError(`--reason is missing: ${due}`, 'give the reason for the delay, which the report states')
  const answer = (await prompt(io, `${due}. Reason for the delay, without names of persons: `, interruption)).trim()
  if (answer === '') throw declinedError()
  const { data, error } = Reason.safeParse(answer)
  if (data === undefined) throw usageError(`the reason ${error?.issues[0]?.message}`)
  return data
}
