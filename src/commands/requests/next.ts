import type { Command } from 'commander'
import * as z from 'zod'
import { action } from '../../cli/action.ts'
import { commandLike, subjectCommand } from '../../cli/messages.ts'
import { one } from '../../cli/output.ts'
import { closeCommand } from '../../cli/register.ts'
import type { Context } from '../../context.ts'
import type { DataSubjectRequest, RequestKind } from '../../contract/requests.ts'
import { text } from '../../contract/values.ts'
import { CliError, exit } from '../../errors/errors.ts'
import { registerView } from '../../views/register.ts'
import { findRows } from './rows.ts'

const Options = z.strictObject({ assignee: text(1, 100).optional() })

export function next(command: Command, ctx: Context): void {
  command
    .option('--assignee <name>', 'only requests assigned to NAME')
    .description(`
Shows the open request that is due first, and the commands that answer it. Exit code 3 if none is open.

Examples:
  $ consentctl requests next
  $ consentctl requests next --assignee 'privacy team' -q`)
    .action(
      action(ctx, Options, registerView, async (_, { assignee }) => {
        const [first] = await findRows(ctx, { assignee })
        if (first === undefined) throw new CliError('not_found', exit.notFound, 'no request is open')
        return one(registerView, first, { footer: () => ctx.say(nextStep(ctx, first)) })
      }),
    )
}

/** Documents that prove an answer. */
const proofs: { readonly [Kind in RequestKind]?: { readonly types: readonly string[]; readonly says: string } } = {
  erasure: { types: ['erasure_receipt', 'erasure_certificate'], says: 'the erasure is proved' },
  withdrawal: { types: ['withdrawal_receipt'], says: 'the withdrawal has a receipt' },
  access: { types: ['export_manifest'], says: 'the export is made' },
}

function nextStep(ctx: Context, { ticket, kind, receipts }: DataSubjectRequest): string {
  const proof = proofs[kind]
  if (proof && receipts.some(({ type }) => proof.types.includes(type)))
    return `${proof.says}; once the person has the answer: ${closeCommand(ticket)}`
  return `to answer it: ${answerTo(ctx, kind, ticket)}`
}

function answerTo(ctx: Context, kind: RequestKind, ticket: string): string {
  if (kind === 'erasure') return subjectCommand(ctx, 'erase', '--request', ticket)
  if (kind === 'withdrawal') return `${commandLike(ctx, 'withdraw', '--request', ticket)} --purpose NAME`
  if (kind === 'access') return subjectCommand(ctx, 'export', '--request', ticket, '--out', 'records.json')
  return subjectCommand(ctx, 'find', '--request', ticket)
}
