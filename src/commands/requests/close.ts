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
import { instanceLabel, quoteForShell } from '../../cli/messages.ts'
import { type Output, one } from '../../cli/output.ts'
import { changeRequest, findRequest } from '../../cli/register.ts'
import type { Context } from '../../context.ts'
import { type DataSubjectRequest, requestOutcomes } from '../../contract/requests.ts'
import { text } from '../../contract/values.ts'
import { describeDue, isOverdue } from '../../domain/due.ts'
import { formatProofs } from '../../erasure/sentences.ts'
import { exit, usageError } from '../../errors/errors.ts'
import { canPrompt, declinedError, prompt } from '../../io/prompt.ts'
import { registerView } from '../../views/register.ts'
import { purgeByReceipt } from '../subject/purging.ts'

const Reason = text(1, 500)

const Options = z.strictObject({
  ...confirmOptions,
  operands: z.tuple([text(1, 100)]),
  outcome: z.enum(requestOutcomes),
  reason: Reason.optional(),
  purge: z.literal(true).optional(),
})

export function close(command: Command, ctx: Context): void {
  addConfirmFlags(
    command
      .argument('<ticket>', 'the ticket of the request')
      .addOption(new Option('--outcome <outcome>', 'how it ended').choices(requestOutcomes).makeOptionMandatory())
      .option('--reason <text>', 'why it was refused or late, without names of persons')
      .option('--purge', 'first purge the records that its erasure receipt lists, as "subject purge" does'),
    'request',
  )
    .description(`
Closing cannot be undone: it removes the person's identifiers from the register, which keeps their HMACs. A
receipt can still be added. Prompts for confirmation without --yes. A late request needs a --reason for the report;
at a terminal it is asked for.

Erased data stays in the service until its purge, so that an erasure by mistake can be undone. Closing an erasure
says when that is due; --purge does it first, and needs the receipt of the erasure. While a legal hold keeps records
of the person, an erasure cannot be closed as done: close it as refused.

Examples:
  $ consentctl requests close DSR-7 --outcome done --yes
  $ consentctl requests close DSR-7 --outcome done --purge --yes
  $ consentctl requests close DSR-8 --outcome refused --reason 'manifestly unfounded' --yes`)
    .action(
      action(ctx, Options, registerView, async (_, options) => {
        const { operands, outcome } = options
        if (outcome === 'refused' && options.reason === undefined)
          throw usageError(
            '--reason is missing',
            'a person must be informed why a request is refused (GDPR Art. 12(4))',
          )
        const asks = mustPrompt(ctx, options, { action: 'close' })
        const found = await findRequest(ctx.api, operands[0])
        return await closeFound(ctx, found, options, asks)
      }),
    )
}

async function closeFound(
  ctx: Context,
  found: DataSubjectRequest,
  options: z.output<typeof Options>,
  asks: boolean,
): Promise<Output<unknown>> {
  const { outcome, purge } = options
  if (purge) requireErasure(found, outcome)
  const rows = [{ ...found, overdue: isOverdue(found) }]
  requireConfirmedCount(options, rows.length, 'request', 'closed')
  const isErased = found.kind === 'erasure' && outcome === 'done'
  if (outcome === 'done') await warnOfNoReceipt(ctx, found)
  const reason = options.reason ?? (isOverdue(found) ? await askReason(ctx, found) : undefined)
  const where = instanceLabel(ctx)
  if (asks) await promptToConfirm(ctx, registerView, rows, { action: 'close', noun: 'request', where })
  if (purge) {
    const isConfirmed = options.yes || options.confirm !== undefined
    const purged = await purgeByReceipt(ctx, found.ticket, isConfirmed ? { yes: true } : {})
    if (purged.exit?.() !== exit.done) {
      await ctx.warn(`${found.ticket} stays open`)
      return purged
    }
  }
  const change = { outcome, ...(reason !== undefined && { outcome_reason: reason }) }
  const closed = await changeRequest(ctx.api, found.id, change)
  if (isErased) await sayPurge(ctx, closed)
  if (closed.sealed_proofs > 0) await ctx.say(`${closed.ticket}: kept of purged records: ${describeSealed(closed)}`)
  return one(registerView, { ...closed, overdue: false }, { mutates: true }) as Output<unknown>
}

function requireErasure({ kind, ticket }: DataSubjectRequest, outcome: string): void {
  if (kind === 'erasure' && outcome === 'done') return
  throw usageError(`--purge is for an erasure that is done, and ${ticket} is closed as ${kind}, ${outcome}`)
}

async function sayPurge(
  ctx: Context,
  { ticket, purge_due_on, purged_on, receipts }: DataSubjectRequest,
): Promise<void> {
  const isErased = receipts.some(({ type }) => type === 'erasure_receipt')
  const purgeNow = isErased ? `; to purge it now: consentctl subject purge ${quoteForShell(ticket)}` : ''
  if (purged_on) await ctx.say(`${ticket}: the service holds no record with these identifiers any more`)
  else if (purge_due_on)
    await ctx.say(`${ticket}: the erased data stays until its purge, which is due on ${purge_due_on}${purgeNow}`)
  else
    await ctx.warn(
      `${ticket}: the service does not say when the data is purged: it has live records of the person, or purges by hand only${purgeNow}`,
    )
}

function describeSealed({ sealed_proofs: proofs, sealed_until }: DataSubjectRequest): string {
  return formatProofs([{ proofs, until: sealed_until ?? '' }])
}

async function warnOfNoReceipt({ warn }: Context, { ticket, kind, receipts }: DataSubjectRequest): Promise<void> {
  const names = { erasure: 'an erasure', withdrawal: 'a withdrawal' }
  if (receipts.length > 0 || (kind !== 'erasure' && kind !== 'withdrawal')) return
  await warn(`${ticket} is ${names[kind]} request without ${names[kind]} receipt`)
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
