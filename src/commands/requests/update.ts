import type { Command } from 'commander'
import { Option } from 'commander'
import * as z from 'zod'
import { action, collect, nonEmpty } from '../../cli/action.ts'
import { one } from '../../cli/output.ts'
import { changeRequest, findRequest } from '../../cli/register.ts'
import { readSubjects, Subject } from '../../cli/subjects.ts'
import { receivedDay } from '../../cli/time.ts'
import type { Context } from '../../context.ts'
import { proofTypes, type RequestChange, requestKinds } from '../../contract/requests.ts'
import { text } from '../../contract/values.ts'
import { isOverdue } from '../../domain/due.ts'
import { readOperand } from '../../erasure/receipts.ts'
import { dataError, usageError } from '../../errors/errors.ts'
import { readSigned } from '../../evidence/signed.ts'
import { sha256 } from '../../receipts/store.ts'
import { registerView } from '../../views/register.ts'

const Options = z.strictObject({
  operands: z.tuple([text(1, 100)]),
  assignee: text(1, 100).optional(),
  unassign: z.literal(true).optional(),
  kind: z.enum(requestKinds).optional(),
  received: nonEmpty.optional(),
  subject: z.array(Subject).optional(),
  receipt: nonEmpty.optional(),
})
type Options = z.output<typeof Options>

export function update(command: Command, ctx: Context): void {
  command
    .argument('<ticket>', 'the ticket of the request')
    .option('--assignee <name>', 'new assignee of the request')
    .option('--unassign', 'remove the assignee')
    .addOption(new Option('--kind <kind>', 'what is requested').choices(requestKinds))
    .option('--received <date>', 'when it was received; recalculates the due date')
    .option('--subject <id>', 'replace the identifiers; repeatable, - for stdin', collect)
    .option('--receipt <file>', 'add the digest of an erasure receipt or an export manifest')
    .description(`
Assigns or corrects an open request. Every change is kept in its history. A receipt can also be added to a closed
request; subject erase and export do it with --request.

Examples:
  $ consentctl requests update DSR-7 --assignee 'privacy team'
  $ consentctl requests update DSR-7 --received 2026-01-30`)
    .action(
      action(ctx, Options, registerView, async (_, options) => {
        const change = await toChange(ctx, options)
        const { id } = await findRequest(ctx.api, options.operands[0])
        const changed = await changeRequest(ctx.api, id, change)
        return one(registerView, { ...changed, overdue: isOverdue(changed) }, { mutates: true })
      }),
    )
}

async function toChange(ctx: Context, options: Options): Promise<RequestChange> {
  const { assignee, unassign, kind, received, subject, receipt } = options
  if (assignee !== undefined && unassign) throw usageError('--assignee cannot be used with --unassign')
  const change: RequestChange = {
    ...(kind && { kind }),
    ...(received !== undefined && { received_on: receivedDay(received) }),
    ...(subject && { subject_ids: await readSubjects(ctx, subject) }),
    ...(assignee !== undefined && { assignee }),
    ...(unassign && { assignee: null }),
    ...(receipt !== undefined && { receipt: await readProof(receipt) }),
  }
  if (Object.keys(change).length > 0) return change
  throw usageError('nothing to change', 'use --assignee, --unassign, --kind, --received, --subject or --receipt')
}

async function readProof(path: string): Promise<NonNullable<RequestChange['receipt']>> {
  const bytes = await readOperand(path)
  try {
    const found = readSigned(bytes).document.type
    const type = proofTypes.find(each => each === found)
    if (type !== undefined) return { type, sha256: sha256(bytes) }
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
  }
  throw dataError(
    `${path} must be a receipt of an erasure or a withdrawal, an erasure certificate, or an export manifest`,
  )
}
